import LarderCache
import LarderCore
import LarderHTTP

/// An object store with icons that several machines share, and its use in a run.
public struct Remote: Sendable {
    /// How a run uses the remote.
    public enum Use: Sendable {
        /// Copies objects from the remote, and stores objects that the remote lacks.
        case mirror
        /// Copies objects from the remote, but stores none there.
        case read
        /// Stores objects that the remote lacks, and copies none that are fresh there.
        case fill
        /// Copies objects of any age from the remote. Makes no requests to origins.
        case only
        /// Stores the cache's objects in the remote. Makes no requests to origins.
        case store
    }

    /// The location and credentials of the remote.
    public var settings: S3Settings
    /// The use of the remote. Default: ``Use-swift.enum/mirror``.
    public var use = Use.mirror
    /// With `fill`, objects stored or confirmed within this time count as fresh. Default: nil.
    public var freshFor: Duration?
    /// The maximum number of requests in flight. Default: 16.
    public var maximumConcurrent = 16
    /// The maximum number of names in a listing. Default: 5,000,000.
    public var maximumListed = 5_000_000
    package var storage: (any ObjectStore)?

    /// Creates a remote with default options.
    public init(_ settings: S3Settings) { self.settings = settings }

    func open(_ transfer: TransferConfiguration) throws -> any ObjectStore {
        try storage ?? S3Bucket(settings, connections: maximumConcurrent, transfer: transfer)
    }
}

/// The names in a remote. A reference's name contains the digest of its object.
package enum RemoteLayout {
    static let objects = "objects/sha256/"

    package static func object(_ digest: Digest) -> String {
        let hex = digest.hex
        return "\(objects)\(hex.prefix(2))/\(hex)"
    }

    static func digest(ofObject key: String) -> Digest? {
        guard key.utf8.count == objects.utf8.count + 3 + 64,
            let digest = Digest(hex: key.suffix(64)), object(digest) == key
        else { return nil }
        return digest
    }

    static func references(ofPart part: UInt8) -> String { "refs/\(String.hex([part]))/" }

    static func references(to name: ReferenceName) -> String {
        "\(references(ofPart: name.part))\(name.name.hex)/"
    }

    package static func reference(_ name: ReferenceName, to digest: Digest) -> String {
        references(to: name) + digest.hex
    }
}

struct RemoteContext: Sendable {
    let policy: PlanPolicy
    let maximumObjectBytes: Int64
    let grace: Duration
    let headers: RequestHeaders
    let remote: Remote
    let remoteStore: RemoteStore
    let tally: RemoteTally
    let cache: Cache
    let reporter: Reporter
    let check: BodyCheck
    let channel: EventChannel
    var plan: Plan { check.plan }
    var store: Store { check.store }

    func report(_ results: [ResourceResult]) {
        reporter.report(results)
        var progress = reporter.progress
        progress.arrived = progress.done
        channel.offer(.progress(progress))
    }
}
