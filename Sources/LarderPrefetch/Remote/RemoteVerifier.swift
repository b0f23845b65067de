import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// Reads every object of a remote and digests it, and looks for references to what is not there.
public struct RemoteVerifier: Sendable {
    private let remote: Remote
    private let transfer: TransferConfiguration
    /// The worker that this is: it verifies the objects of its parts. Default: nil, all objects.
    public var shard: Shard?

    /// A verifier of a remote.
    public init(_ remote: Remote, transfer: TransferConfiguration = TransferConfiguration()) {
        self.remote = remote
        self.transfer = transfer
    }

    /// Verifies, and calls `onProgress` for each object. With a cache, restores what is found from
    /// it, or removes object and references if the cache does not have the object whole.
    ///
    /// - Throws: `RemoteError`, `CacheError`. If the task is cancelled, the report says so instead.
    public func verify(
        repairingFrom cache: Cache? = nil,
        onProgress: @escaping @Sendable (RemoteVerifyReport) -> Void = { _ in }
    ) async throws -> RemoteVerifyReport {
        try await remote.run(over: transfer, onProgress: onProgress) { run in
            let verification = Verification(run, shard: shard)
            try await verification.readObjects()
            try await verification.goThroughReferences()
            try await verification.settle(repairingFrom: cache)
        }
    }
}

private final class Verification: Sendable {
    private let run: RemoteRun<RemoteVerifyReport>
    private let shard: Shard?
    /// With this many unreadable objects in a row, the store itself fails.
    private static let mostUnreadableInRow = 10
    private let unreadableInRow = Atomic(0)

    init(_ run: RemoteRun<RemoteVerifyReport>, shard: Shard?) {
        self.run = run
        self.shard = shard
    }

    private var store: RemoteStore { run.store }
    private var scratch: RemoteScratch { run.scratch }
    private func owns(_ byte: UInt8) -> Bool { shard?.owns(Part(number: byte)) ?? true }

    /// Lists all objects before it reads any, so that an endless listing is found first.
    func readObjects() async throws {
        try await run.forEachByte(where: owns) { [self] byte in
            try await store.forEachObject(beginningWith: byte) { page in
                try scratch.add(page.entries.map { ($0.digest, $0.listed.size, .unreferenced) })
                run.count { $0.foreign += page.foreign }
            }
        }
        try await run.forEachObject(.unreferenced) { [self] digest, size in
            try await read(digest, size)
            run.count { report in
                report.objects += 1
                report.bytes.addForeign(size)
            }
            run.tellProgress()
        }
    }

    /// Throws the store's error if too many objects in a row cannot be read.
    private func read(_ digest: Digest, _ size: Int64) async throws {
        do {
            if try await !isWhole(digest, size) { try scratch.set(.corrupt, of: digest) }
            unreadableInRow.store(0, ordering: .relaxed)
        } catch let error as RemoteError where !error.isPermanent {
            let count = unreadableInRow.add(1, ordering: .relaxed).newValue
            guard count < Self.mostUnreadableInRow else { throw error }
            try scratch.set(.unreadable, of: digest)
        }
    }

    /// Whether an object has the bytes that its name says, or was removed since it was listed.
    /// Nothing is read beyond the listed size.
    private func isWhole(_ digest: Digest, _ size: Int64) async throws -> Bool {
        let hasher = Mutex(RunningDigest())
        do {
            try await store.storage.get(
                RemoteLayout.object(digest), maximumBytes: min(size, StoredObject.largest)
            ) { _ in
                hasher.withLock { $0 = RunningDigest() }
                return { bytes in
                    hasher.withLock { $0.update(bytes) }
                    return true
                }
            }
        } catch let error as RemoteError where error.code == .notFound {
            return true
        } catch let error as RemoteError where error.code == .tooLarge {
            return false
        }
        return hasher.withLock { $0 }.digest == digest
    }

    func goThroughReferences() async throws {
        try await run.forEachByte { [self] part in
            try await store.forEachReference(ofPart: part) { page in
                if owns(part) { run.count { $0.foreign += page.foreign } }
                try await take(page.entries.filter { owns($0.known.digest.firstByte) })
            }
        }
    }

    private func take(_ page: [RemoteStore.ListedReference]) async throws {
        for (reference, state) in zip(page, try scratch.refer(to: page.map(\.known.digest))) {
            let digest = reference.known.digest
            switch state {
            case .unreferenced, .referenced, .removed: continue
            case .corrupt, .missing, .unreadable: break
            case nil:
                guard try await !run.isThere(digest) else { continue }
                try scratch.add([(digest, 0, .missing)])
            }
            try scratch.note(reference.key, to: digest)
        }
        run.count { $0.references += page.count }
    }

    func settle(repairingFrom cache: Cache?) async throws {
        let unreferenced = try scratch.count(.unreferenced)
        run.count { $0.unreferenced = unreferenced }
        try await run.removeObjects { try await settleFindings(repairingFrom: cache) }
    }

    private func settleFindings(repairingFrom cache: Cache?) async throws {
        for (state, kind) in [
            (RemoteScratch.State.corrupt, RemoteVerifyReport.Finding.Kind.corrupt),
            (.missing, .missing), (.unreadable, .unreadable),
        ] {
            var objects = scratch.objects(state)
            while let (digest, _) = try objects.next() {
                try Task.checkCancellation()
                let names = try scratch.names(to: digest)
                var finding = RemoteVerifyReport.Finding(
                    kind: kind, digest: digest, references: names.count)
                if let cache {
                    finding.repair = try await repair(digest, kind, names, from: cache)
                }
                note(finding)
            }
        }
    }

    private func note(_ finding: RemoteVerifyReport.Finding) {
        run.count { report in
            report.counts[finding.kind, default: 0] += 1
            if finding.repair != nil { report.repaired += 1 }
            if report.findings.count < RemoteVerifyReport.findingLimit {
                report.findings.append(finding)
            }
        }
    }

    private func repair(
        _ digest: Digest, _ kind: RemoteVerifyReport.Finding.Kind, _ names: [String],
        from cache: Cache
    ) async throws -> RemoteVerifyReport.Finding.Repair? {
        if let object = try cache.object(digest) {
            do {
                _ = try await store.put(object, of: cache)
                return .restored
            } catch let error as CacheError where error.isOfDamagedObject {
                // The cache's copy is no better.
            }
        }
        // It may be readable later.
        if kind == .unreadable { return nil }
        // Another machine may have written it since.
        let place = RemoteLayout.object(digest)
        let now = try await store.storage.head(place)
        if let now, try await isWhole(digest, now.size) { return .restored }
        for name in names { try await store.storage.delete(name) }
        if now != nil { try await run.removeObject(digest) }
        return .removed
    }
}

/// What a verification of a remote found.
public struct RemoteVerifyReport: Sendable, RemoteRunReport {
    /// Something that is not as it should be.
    public struct Finding: Sendable {
        /// What is wrong.
        public enum Kind: String, Sendable, CaseIterable {
            /// The object's bytes are others than its name says.
            case corrupt
            /// References lead to the object, and it is not there.
            case missing
            /// The object is there, and the store cannot read it.
            case unreadable
        }

        /// What became of it.
        public enum Repair: String, Sendable, CaseIterable {
            /// The object was written again, from the cache of this machine.
            case restored
            /// The references, and the object, were removed: the next prefetch fetches it again.
            case removed
        }

        /// What is wrong.
        public let kind: Kind
        /// The object.
        public let digest: Digest
        /// How many references lead to it.
        public internal(set) var references: Int
        /// Nil if it was not to be repaired.
        public internal(set) var repair: Repair?
    }

    /// So many are told one by one; all are counted.
    public static let findingLimit = 1000

    /// The remote, as `s3://bucket/prefix`.
    public internal(set) var location: String
    /// Objects that were read.
    public internal(set) var objects = 0
    /// The sum of their sizes.
    public internal(set) var bytes: Int64 = 0
    /// References that were looked at.
    public internal(set) var references = 0
    /// How many there are of each kind.
    public internal(set) var counts: [Finding.Kind: Int] = [:]
    /// How many were repaired.
    public internal(set) var repaired = 0
    /// The first of them.
    public internal(set) var findings: [Finding] = []
    /// Names in the places of objects and references that are neither's. They are left alone.
    public internal(set) var foreign = 0
    /// Objects that nothing refers to.
    public internal(set) var unreferenced = 0
    /// Seconds that it took.
    public internal(set) var seconds: Double = 0
    /// Whether it was cancelled.
    public internal(set) var isInterrupted = false

    init(location: String) { self.location = location }

    /// Whether all that was looked at is whole, or was repaired.
    public var isSound: Bool { counts.values.reduce(0, +) == repaired }
}
