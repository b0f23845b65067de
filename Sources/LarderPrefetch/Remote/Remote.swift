import LarderCache
import LarderCore
import LarderHTTP

/// A store of icons that several machines share, and what a run does with it.
public struct Remote: Sendable {
    /// What is asked of it before origins are.
    public enum Use: Sendable {
        /// What it has is copied into the cache, and what it lacks is stored in it.
        case mirror
        /// The same, and nothing is stored in it.
        case read
        /// It is filled, and fresh objects are left there: for workers whose caches are not read.
        case fill
        /// What it has is copied, whatever its age. What it lacks fails. No origin is asked.
        case only
        /// What the cache has is stored in it. Nothing is copied from it, and no origin is asked.
        case store
    }

    /// Where it is.
    public var settings: S3Settings
    /// What is asked of it. Default: ``Use-swift.enum/mirror``.
    public var use = Use.mirror
    /// For ``Use-swift.enum/fill``: objects stored or confirmed less than this ago count as fresh,
    /// without reading their references. Default: nil, every reference is read.
    public var freshFor: Duration?
    /// Requests to it under way at once. Default: 16.
    public var maximumConcurrent = 16
    /// Maximum number of names in one listing: a hostile server's need not end. Default: 5,000,000.
    public var maximumListed = 5_000_000
    /// In its place, if it is another kind of store.
    package var storage: (any ObjectStore)?

    /// A remote, with the defaults.
    public init(_ settings: S3Settings) { self.settings = settings }

    func open(_ transfer: TransferConfiguration) throws -> any ObjectStore {
        try storage ?? S3Bucket(settings, connections: maximumConcurrent, transfer: transfer)
    }
}

/// The names in a remote: objects as in a cache directory, and references, which name the digest.
package enum RemoteLayout {
    static let objects = "objects/sha256/"
    static let references = "refs/"

    package static func object(_ digest: Digest) -> String {
        let hex = digest.hex
        return "\(objects)\(hex.prefix(2))/\(hex)"
    }

    /// Returns the digest of an object's name, or nil for another name.
    static func digest(ofObject key: String) -> Digest? {
        guard key.utf8.count == objects.utf8.count + 3 + 64,
            let digest = Digest(hex: key.suffix(64)), object(digest) == key
        else { return nil }
        return digest
    }

    static func objects(beginningWith byte: UInt8) -> String { "\(objects)\(byte.hex)/" }
    static func references(ofPart part: UInt8) -> String { "\(references)\(part.hex)/" }

    static func references(to name: ReferenceName) -> String {
        "\(references(ofPart: name.part))\(name.name.hex)/"
    }

    package static func reference(_ name: ReferenceName, to digest: Digest) -> String {
        references(to: name) + digest.hex
    }

    /// Returns the resource and the digest of a reference's name, or nil for another name.
    static func reference(_ key: String) -> (name: ReferenceName, digest: Digest)? {
        // All parts have a fixed length.
        func text(_ start: Int, _ count: Int) -> String {
            String(decoding: key.utf8.dropFirst(start).prefix(count), as: UTF8.self)
        }
        guard key.utf8.count == 137, let part = UInt8(text(5, 2), radix: 16),
            let name = Digest(hex: text(8, 64)), let digest = Digest(hex: text(73, 64))
        else { return nil }
        let reference = ReferenceName(part: part, name: name)
        return Self.reference(reference, to: digest) == key ? (reference, digest) : nil
    }
}

extension UInt8 {
    var hex: String { String(self >> 4, radix: 16) + String(self & 15, radix: 16) }
}

struct RemoteContext: Sendable {
    let configuration: PrefetchConfiguration
    let headers: RequestHeaders
    let remote: Remote
    let remoteStore: RemoteStore
    let tally: RemoteTally
    let cache: Cache
    let reporter: Reporter
    let check: BodyCheck
    /// Called after each resource of the remote.
    let onProgress: @Sendable () -> Void

    var plan: Plan { check.plan }
    var store: Store { check.store }
}
