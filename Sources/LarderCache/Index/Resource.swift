import Foundation

/// A URL, the object it last resolved to, and how to ask for it again.
public struct Resource: Sendable {
    /// What it is looked up by, as ``ResourceKey`` has it: the URL, or the manifest's `key` where
    /// the URL is signed or rotates, or the name of bytes that a manifest held.
    public let key: String
    /// The URL it was last fetched from, in canonical spelling; of bytes that a manifest held their
    /// name.
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

    /// False where the key is the name of other bytes: the row is then worth nothing.
    var isAsNamed: Bool { ResourceKey.mayName(object.digest, key.utf8) }

    /// Whether it is fresh, of a row of `resources r`, as an SQL condition.
    package static func isFresh(at instant: Date) -> String {
        let now = instant.timeIntervalSince1970
        return "(r.fresh_until > \(now) AND r.received_at <= \(now + Freshness.clockSkew))"
    }

    static let columns = """
        r.key, r.url, r.etag, r.last_modified, r.date, r.age, r.cache_control, r.expires,
        r.received_at, r.fresh_until, r.vary, r.variant, r.response_url, o.digest, o.size, o.media_type,
        o.width, o.height, o.stored_at, o.used_at
        """

    init(_ row: PreparedStatement) throws {
        var validators = Validators()
        validators.etag = row.text(2)
        validators.lastModified = row.text(3)
        validators.date = row.text(4)
        validators.age = row.isNull(5) ? nil : try row.requireTime(5)
        validators.cacheControl = row.text(6)
        validators.expires = row.text(7)
        validators.vary = row.text(10)
        self.validators = validators
        key = try row.requireText(0)
        url = row.text(1) ?? key
        responseURL = row.text(12) ?? url
        receivedAt = Date(timeIntervalSince1970: try row.requireTime(8))
        freshUntil = Date(timeIntervalSince1970: try row.requireTime(9))
        variant = row.isNull(11) ? nil : try row.requireDigest(11)
        object = try StoredObject(row, startingAt: 13)
    }
}
