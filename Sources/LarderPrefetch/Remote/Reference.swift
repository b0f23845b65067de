import Foundation
import LarderCache
import LarderCore

/// A remote's record of a resource, as JSON. Untrusted, so its values are checked.
struct Reference: Codable, Sendable {
    static let sizeLimit: Int64 = 64 << 10
    /// In bytes. Amazon S3 permits 2 KB, and rclone 2,000 bytes for all `x-amz-` fields.
    private static let metadataLimit = 1_500
    let record: Record
    let validators: Validators

    struct Record: Codable {
        /// Nil if the key is derived from the URL.
        fileprivate var key: String?
        /// If `key` is not nil, the query is masked, because it may contain secrets.
        fileprivate var url: String
        var size: Int64
        var mediaType: String?
        fileprivate var variant: String?
        /// The URL after redirects, without the query.
        var responseUrl: String?
        var fetchedAt: Date
        var freshUntil: Date
    }

    init(_ resource: Resource) {
        let isNamedByURL = !ResourceKey.isApart(resource.key, from: resource.url)
        let (url, responseURL) = (resource.url, resource.responseURL)
        record = Record(
            key: isNamedByURL ? nil : resource.key, url: isNamedByURL ? url : url.maskingQuery,
            size: resource.object.size, mediaType: resource.object.mediaType,
            variant: resource.variant?.hex,
            // A redirect's URL may be signed, or may repeat the query of a secret URL.
            responseUrl: responseURL == url ? nil : responseURL.maskingQuery,
            fetchedAt: resource.receivedAt, freshUntil: resource.freshUntil)
        validators = resource.validators
    }

    init?(_ bytes: [UInt8]) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        guard let reference = try? decoder.decode(Reference.self, from: Data(bytes)),
            reference.isPlausible
        else { return nil }
        self = reference
    }

    init(from decoder: any Decoder) throws {
        record = try Record(from: decoder)
        validators = try Validators(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try record.encode(to: encoder)
        try validators.encode(to: encoder)
    }

    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        // Strings and finite numbers can always be encoded.
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }

    /// The record in Base64 for an object's metadata. Nil if it is too long or a URL contains a
    /// secret, because objects may be public even if references are not.
    var metadata: String? {
        let urls = [record.url, record.responseUrl ?? ""]
        guard urls.allSatisfy({ $0.maskingSecretsInQuery.isSame(as: $0) }) else { return nil }
        let text = Data(bytes).base64EncodedString()
        return text.utf8.count <= Self.metadataLimit ? text : nil
    }

    init?(metadata: String) {
        guard let bytes = Data(base64Encoded: metadata) else { return nil }
        self.init(Array(bytes))
    }

    var resourceKey: String {
        if let key = record.key { return key }
        // The URL is not canonical if it has credentials.
        guard let url = try? HTTPURL(record.url), url.string.isSame(as: record.url) else {
            return record.url
        }
        return url.key
    }

    var variant: Digest? { record.variant.flatMap { Digest(hex: $0) } }

    func isFresh(at instant: Date) -> Bool {
        record.freshUntil > instant
            && record.fetchedAt <= instant.addingTimeInterval(Freshness.clockSkew)
    }

    private var isPlausible: Bool {
        let (fields, mediaType) = (validators, record.mediaType ?? "")
        let dates = [record.fetchedAt, record.freshUntil].map(\.timeIntervalSince1970)
        let times = dates + [fields.age ?? 0]
        let texts: [String?] = [
            record.key, record.url, record.responseUrl, mediaType, fields.etag,
            fields.lastModified, fields.date, fields.cacheControl, fields.expires, fields.vary,
        ]
        return times.allSatisfy { $0.isFinite && abs($0) <= RowReader.longestTime }
            && (0...StoredObject.largest).contains(record.size)
            // These strings are sent or printed.
            && texts.allSatisfy { ($0 ?? "").utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
            && (record.variant == nil) == (fields.vary == nil || variant == nil)
            && (try? HTTPURL(record.responseUrl ?? record.url)) != nil
            && mediaType.utf8.count <= 255 && mediaType.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

/// The place of a resource's references in a remote, `refs/<part>/<name>/`.
package struct ReferenceName: Hashable, Sendable {
    /// The ``Part`` of the URL's host, or of a key without a host.
    package let part: UInt8
    package let name: Digest

    package init(part: UInt8, name: Digest) { (self.part, self.name) = (part, name) }

    init(key: String, url: String) {
        let host = ResourceKey.isSpelledOut(key) ? nil : (try? HTTPURL(url))?.host
        part = (host.map { Part(ofHost: $0) } ?? Part(ofKey: key)).number
        name = Digest(of: Array(key.utf8))
    }
}
