import Foundation
import GRDB

/// A URL, the object it last resolved to, and how to ask for it again.
public struct Resource: Sendable {
    /// What it is looked up by: the URL, or the manifest's `key` where the URL is signed or rotates.
    public let key: String
    /// The URL it was last fetched from, in canonical spelling.
    public let url: String
    /// Where redirects led: whose validators these are.
    public let responseURL: String
    /// The object it resolved to.
    public let object: StoredObject
    /// What the origin said about its age and version.
    public let validators: Validators
    /// Which variant it is, where the request's header fields selected it; their digest, as
    /// ``Vary/variant(for:)`` has it.
    package let variant: Digest?
    /// When the response was received or last confirmed.
    public let receivedAt: Date
    /// Until when it may be used without asking again.
    public let freshUntil: Date

    /// Whether it may be used at `instant` without asking its origin.
    ///
    /// Nothing is where it was received later than that: a clock was set back, and whatever it said
    /// then is worth nothing.
    public func isFresh(at instant: Date = Date()) -> Bool {
        freshUntil > instant && receivedAt <= instant.addingTimeInterval(Freshness.clockSkew)
    }

    /// The same of a row of `resources r`, as an SQL condition.
    package static func isFresh(at instant: Date) -> String {
        let now = instant.timeIntervalSince1970
        return "(r.fresh_until > \(now) AND r.received_at <= \(now + Freshness.clockSkew))"
    }

    static let columns = """
        r.key, r.url, r.etag, r.last_modified, r.date, r.age, r.cache_control, r.expires,
        r.received_at, r.fresh_until, r.vary, r.variant, r.response_url, o.digest, o.size, o.media_type,
        o.width, o.height, o.stored_at, o.used_at
        """

    init(row: Row) {
        var validators = Validators()
        validators.etag = row[2]
        validators.lastModified = row[3]
        validators.date = row[4]
        validators.age = row[5]
        validators.cacheControl = row[6]
        validators.expires = row[7]
        validators.vary = row[10]
        self.validators = validators
        key = row[0]
        let url: String = row[1] ?? row[0]
        self.url = url
        responseURL = row[12] ?? url
        receivedAt = Date(timeIntervalSince1970: row[8])
        freshUntil = Date(timeIntervalSince1970: row[9])
        variant = (row[11] as Data?).map(Digest.init(blob:))
        object = StoredObject(row: row, startingAt: 13)
    }
}
