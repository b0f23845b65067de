import Foundation
import GRDB

/// A URL, the object it last resolved to, and how to ask for it again.
public struct Resource: Sendable {
    /// What it is looked up by: the URL, or the manifest's `key` where the URL is signed or rotates.
    public let key: String
    /// The URL it was last fetched from, in canonical spelling.
    public let url: String
    /// The object it resolved to.
    public let object: StoredObject
    /// What the origin said about its age and version.
    public let validators: Validators
    /// When the response was received or last confirmed.
    public let receivedAt: Date
    /// Until when it may be used without asking again.
    public let freshUntil: Date

    /// Whether it may be used at `instant` without asking its origin.
    public func isFresh(at instant: Date = Date()) -> Bool { freshUntil > instant }

    static let columns = """
        r.key, r.url, r.etag, r.last_modified, r.date, r.age, r.cache_control, r.expires,
        r.received_at, r.fresh_until, o.digest, o.size, o.media_type, o.width, o.height, o.stored_at
        """

    init(row: Row) {
        var validators = Validators()
        validators.etag = row[2]
        validators.lastModified = row[3]
        validators.date = row[4]
        validators.age = row[5]
        validators.cacheControl = row[6]
        validators.expires = row[7]
        self.validators = validators
        key = row[0]
        url = row[1] ?? row[0]
        receivedAt = Date(timeIntervalSince1970: row[8])
        freshUntil = Date(timeIntervalSince1970: row[9])
        object = StoredObject(row: row, startingAt: 10)
    }
}
