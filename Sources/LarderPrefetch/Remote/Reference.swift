import Foundation
import LarderCache
import LarderCore

/// A remote's record of a resource, as JSON. Untrusted, so its values are checked.
struct Reference: Codable, Sendable {
    static let sizeLimit: Int64 = 64 << 10
    /// The maximum length of ``metadata``, in bytes. Amazon S3 permits 2 KB. rclone permits 2,000
    /// bytes for all `x-amz-` fields of an upload.
    private static let metadataLimit = 1_500
    /// Nil if the key is derived from the URL.
    private var key: String?
    /// If `key` is not nil, the query is masked, because it may contain secrets.
    let url: String
    let size: Int64
    let mediaType: String?
    private var etag: String?
    private var lastModified: String?
    private var date: String?
    private var age: TimeInterval?
    private var cacheControl: String?
    private var expires: String?
    private var vary: String?
    private var variant: String?
    /// The URL after redirects, without the query.
    let responseURL: String?
    private var fetchedAt: TimeInterval
    private var freshUntil: TimeInterval

    private enum CodingKeys: String, CodingKey {
        case key, url, size, etag, date, age, expires, vary, variant
        case mediaType = "media_type"
        case lastModified = "last_modified"
        case cacheControl = "cache_control"
        case responseURL = "response_url"
        case fetchedAt = "fetched_at"
        case freshUntil = "fresh_until"
    }

    init(_ resource: Resource) {
        let isNamedByURL = !ResourceKey.isApart(resource.key, from: resource.url)
        key = isNamedByURL ? nil : resource.key
        url = isNamedByURL ? resource.url : resource.url.maskingQuery
        size = resource.object.size
        mediaType = resource.object.mediaType
        etag = resource.validators.etag
        lastModified = resource.validators.lastModified
        date = resource.validators.date
        age = resource.validators.age
        cacheControl = resource.validators.cacheControl
        expires = resource.validators.expires
        vary = resource.validators.vary
        variant = resource.variant?.hex
        // A redirect's URL may be signed, or may repeat the query of a secret URL.
        responseURL = resource.responseURL == resource.url ? nil : resource.responseURL.maskingQuery
        fetchedAt = resource.receivedAt.timeIntervalSince1970
        freshUntil = resource.freshUntil.timeIntervalSince1970
    }

    init?(_ bytes: [UInt8]) {
        guard let reference = try? JSONDecoder().decode(Reference.self, from: Data(bytes)),
            reference.isPlausible
        else { return nil }
        self = reference
    }

    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers can always be encoded.
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }

    /// The record in Base64 for an object's metadata. Nil if it is too long or a URL contains a
    /// secret, because objects may be public even if references are not.
    var metadata: String? {
        guard url.maskingSecretsInQuery.isSame(as: url),
            responseURL.map({ $0.maskingSecretsInQuery.isSame(as: $0) }) ?? true
        else { return nil }
        let text = Data(bytes).base64EncodedString()
        return text.utf8.count <= Self.metadataLimit ? text : nil
    }

    init?(metadata: String) {
        guard let bytes = Data(base64Encoded: metadata) else { return nil }
        self.init(Array(bytes))
    }

    /// Whether this record from an object's metadata is as new as the listed reference. A renewal
    /// writes only the reference.
    func canReplace(_ known: RemoteStore.Known) -> Bool {
        known.modified <= receivedAt.addingTimeInterval(RemoteStore.Known.clockSkew)
    }

    var resourceKey: String {
        if let key { return key }
        // The URL is not canonical if it has credentials.
        guard let parsed = try? HTTPURL(url), parsed.string.isSame(as: url) else { return url }
        return parsed.key
    }

    var receivedAt: Date { Date(timeIntervalSince1970: fetchedAt) }
    var freshEnd: Date { Date(timeIntervalSince1970: freshUntil) }
    var variantDigest: Digest? { variant.flatMap { Digest(hex: $0) } }

    var validators: Validators {
        var validators = Validators()
        validators.etag = etag
        validators.lastModified = lastModified
        validators.date = date
        validators.age = age
        validators.cacheControl = cacheControl
        validators.expires = expires
        validators.vary = vary
        return validators
    }

    func isFresh(at instant: Date) -> Bool {
        freshEnd > instant && receivedAt <= instant.addingTimeInterval(Freshness.clockSkew)
    }

    private var isPlausible: Bool {
        let times = [fetchedAt, freshUntil, age ?? 0]
        let texts = [
            key, url, mediaType, etag, lastModified, date, cacheControl, expires, vary, responseURL,
        ]
        return times.allSatisfy { $0.isFinite && abs($0) <= RowReader.longestTime }
            && (0...StoredObject.largest).contains(size)
            // These texts are sent or printed.
            && texts.allSatisfy { ($0 ?? "").utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
            && (variant == nil) == (vary == nil || variantDigest == nil)
            && (try? HTTPURL(responseURL ?? url)) != nil
            && (mediaType ?? "").utf8.count <= 255
            && (mediaType ?? "").utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

/// The place of a resource's references in a remote, `refs/<part>/<name>/`.
package struct ReferenceName: Hashable, Sendable {
    /// The ``Part`` of the URL's host, or of the key without a host.
    package let part: UInt8
    package let name: Digest

    package init(key: String, host: String?) {
        part = (host.map { Part(ofHost: $0) } ?? Part(ofKey: key)).number
        name = Digest(of: Array(key.utf8))
    }

    package init(key: String, url: String) {
        self.init(key: key, host: ResourceKey.isSpelledOut(key) ? nil : (try? HTTPURL(url))?.host)
    }

    package init(part: UInt8, name: Digest) {
        self.part = part
        self.name = name
    }
}
