import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// A verifier that checks the digests of a remote's objects, and finds references without objects.
public struct RemoteVerifier: Sendable {
    private let remote: Remote
    private let transfer: TransferConfiguration
    /// The worker whose objects are verified. Default: nil, all objects.
    public var shard: Shard?

    /// Creates a verifier for a remote.
    public init(_ remote: Remote, transfer: TransferConfiguration = TransferConfiguration()) {
        (self.remote, self.transfer) = (remote, transfer)
    }

    /// Verifies the remote. With a cache, restores damaged, missing and unreadable objects from it.
    /// If the cache lacks an object, removes a damaged object, and the references to a damaged or
    /// missing one. Calls `onProgress` for each object. Throws `RemoteError` or `CacheError`. If
    /// cancelled, returns a partial report.
    public func verify(
        repairingFrom cache: Cache? = nil,
        onProgress: @escaping @Sendable (RemoteVerifyReport) -> Void = { _ in }
    ) async throws -> RemoteVerifyReport {
        let run = try RemoteRun(remote, over: transfer, shard: shard, onProgress: onProgress)
        return try await run.finish {
            try await run.readObjects()
            try await run.checkReferences()
            let unreferenced = try run.scratch.count(.unreferenced)
            run.count { $0.unreferenced = unreferenced }
            try await run.removeObjects { try await run.settleFindings(repairingFrom: cache) }
        }
    }
}

extension RemoteRun<RemoteVerifyReport> {
    /// Lists all objects before reading any, to detect an endless listing early.
    fileprivate func readObjects() async throws {
        try await forEachByte(where: owns) { [self] byte in
            try await store.forEachObject(beginningWith: byte) { page in
                try scratch.add(page.entries.map { ($0.digest, $0.listed.size, .unreferenced) })
                count { $0.foreign += page.foreign }
            }
        }
        let unreadableInRow = Mutex(0)
        try await forEachObject(.unreferenced) { [self] digest, size in
            do {
                if try await !isWhole(digest, size) { try scratch.set(.corrupt, of: digest) }
                unreadableInRow.withLock { $0 = 0 }
            } catch let error as RemoteError where !error.isPermanent {
                try unreadableInRow.withLock { number in
                    number += 1
                    // The store itself seems to fail.
                    if number >= 10 { throw error }
                }
                try scratch.set(.unreadable, of: digest)
            }
            count { report in
                report.objects += 1
                report.bytes.addForeign(size)
            }
            reportProgress()
        }
    }

    /// Whether an object matches its digest, or was removed. Reads at most the listed size.
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

    fileprivate func checkReferences() async throws {
        try await forEachByte { [self] part in
            try await store.forEachReference(ofPart: part) { page in
                if owns(part) { count { $0.foreign += page.foreign } }
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
                guard try await !isThere(digest) else { continue }
                try scratch.add([(digest, 0, .missing)])
            }
            try scratch.note(reference.key, to: digest)
        }
        count { $0.references += page.count }
    }

    fileprivate func settleFindings(repairingFrom cache: Cache?) async throws {
        let states: [RemoteScratch.State] = [.corrupt, .missing, .unreadable]
        for (kind, state) in zip(RemoteVerifyReport.Finding.Kind.allCases, states) {
            var objects = scratch.objects(state)
            while let (digest, _) = try objects.next() {
                try Task.checkCancellation()
                let names = try scratch.names(to: digest)
                var finding = RemoteVerifyReport.Finding(
                    kind: kind, digest: digest, references: names.count)
                if let cache { finding.repair = try await repair(digest, kind, names, from: cache) }
                count { report in
                    report.counts[kind, default: 0] += 1
                    if finding.repair != nil { report.repaired += 1 }
                    if report.findings.count < RemoteVerifyReport.findingLimit {
                        report.findings.append(finding)
                    }
                }
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
                // The cache's copy is damaged too.
            }
        }
        // The object may be readable later.
        if kind == .unreadable { return nil }
        // Another machine may have written the object again.
        let now = try await store.storage.head(RemoteLayout.object(digest))
        if let now, try await isWhole(digest, now.size) { return .restored }
        for name in names { try await store.storage.delete(name) }
        if now != nil { try await removeObject(digest) }
        return .removed
    }
}

/// The result of a ``RemoteVerifier``.
public struct RemoteVerifyReport: Sendable, RemoteRunReport {
    /// A problem with an object.
    public struct Finding: Sendable {
        /// The kind of problem.
        public enum Kind: String, Sendable, CaseIterable {
            /// The object's bytes do not match its name.
            case corrupt
            /// The object has references but does not exist.
            case missing
            /// The store cannot read the object.
            case unreadable
        }

        /// The repair of a problem.
        public enum Repair: String, Sendable, CaseIterable {
            /// The object was written again, from the cache or by another machine.
            case restored
            /// The object and its references were removed. The next prefetch downloads it again.
            case removed
        }

        /// The kind of problem.
        public let kind: Kind
        /// The digest of the object.
        public let digest: Digest
        /// The number of references to the object.
        public internal(set) var references: Int
        /// The repair, or nil if the problem was not repaired.
        public internal(set) var repair: Repair?
    }

    /// The maximum number of ``findings``. Further problems are only counted.
    public static let findingLimit = 1000

    /// The remote's location, as `s3://bucket/prefix`.
    public internal(set) var location = ""
    /// The number of objects read.
    public internal(set) var objects = 0
    /// The total size of the objects read, in bytes.
    public internal(set) var bytes: Int64 = 0
    /// The number of references.
    public internal(set) var references = 0
    /// The number of problems of each kind.
    public internal(set) var counts: [Finding.Kind: Int] = [:]
    /// The number of repaired problems.
    public internal(set) var repaired = 0
    /// The first problems, at most ``findingLimit``.
    public internal(set) var findings: [Finding] = []
    /// The number of ignored names, which are neither objects nor references.
    public internal(set) var foreign = 0
    /// The number of objects without references.
    public internal(set) var unreferenced = 0
    /// The duration in seconds.
    public internal(set) var seconds: Double = 0
    /// Whether the verification was cancelled.
    public internal(set) var isInterrupted = false

    /// Whether there were no problems, or all were repaired.
    public var isSound: Bool { counts.values.reduce(0, +) == repaired }
}
