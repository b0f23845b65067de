import Foundation

/// The header fields of a response by which its freshness is judged and its origin asked again.
public struct Validators: Sendable, Equatable {
    /// The `ETag` field as it came, quotes and weakness mark included.
    public var etag: String?
    /// The `Last-Modified` field as it came.
    public var lastModified: String?
    /// The `Date` field as it came.
    public var date: String?
    /// The `Age` field, in seconds.
    public var age: TimeInterval?
    /// The `Cache-Control` field, several joined by commas.
    public var cacheControl: String?
    /// The `Expires` field as it came.
    public var expires: String?

    /// No fields at all.
    public init() {}

    /// These fields, and from `older` those that are missing: a 304 that does not repeat a
    /// validator must not lose it (RFC 9111, section 3.2).
    public func completed(from older: Validators) -> Validators {
        var merged = self
        merged.etag = etag ?? older.etag
        merged.lastModified = lastModified ?? older.lastModified
        merged.cacheControl = cacheControl ?? older.cacheControl
        merged.expires = expires ?? older.expires
        return merged
    }
}
