import Foundation
import LarderHTTP
import Synchronization

/// An evictor that removes a remote's old references, and then objects without references.
/// Other machines may write at the same time. A writer stores the reference and then checks the
/// object (`RemoteStore.keep`). An eviction removes the object and then checks for new references.
/// The later check sees the other machine's change, so all referenced objects exist.
public struct RemoteEvictor: Sendable {
    /// The rules for an eviction.
    public struct Policy: Sendable {
        /// The maximum age of references, in seconds since their last renewal.
        public var maximumAge: TimeInterval
        /// The minimum age of objects to remove, in seconds. References to newer objects may still
        /// be written. Default: a day.
        public var grace: TimeInterval = 86_400
        /// Whether to count without removing. Default: false.
        public var isDryRun = false
        /// The worker whose parts are processed. Default: nil, all parts.
        public var shard: Shard?

        /// Creates a policy.
        public init(maximumAge: TimeInterval) { self.maximumAge = maximumAge }
    }

    private let remote: Remote
    private let transfer: TransferConfiguration

    /// Creates an evictor for a remote.
    public init(_ remote: Remote, transfer: TransferConfiguration = TransferConfiguration()) {
        (self.remote, self.transfer) = (remote, transfer)
    }

    /// Evicts references and objects. Calls `onProgress` for each listed page. Throws
    /// `RemoteError`. If cancelled, returns a partial report.
    public func evict(
        _ policy: Policy,
        onProgress: @escaping @Sendable (RemoteEvictionReport) -> Void = { _ in }
    ) async throws -> RemoteEvictionReport {
        let run = try RemoteRun(remote, over: transfer, shard: policy.shard, onProgress: onProgress)
        run.count { $0.isDryRun = policy.isDryRun }
        return try await run.finish { try await Eviction(run: run, policy: policy).evict() }
    }
}

private struct Eviction: Sendable {
    private typealias Listed = RemoteStore.ListedReference

    let run: RemoteRun<RemoteEvictionReport>
    let policy: RemoteEvictor.Policy
    /// The time on this machine. The store's clock is close, or the store would refuse signatures.
    private let start = Date()
    private var latest: Date { start.addingTimeInterval(-policy.grace) }

    private var store: RemoteStore { run.store }
    private var scratch: RemoteScratch { run.scratch }

    func evict() async throws {
        try await listObjects()
        try await settleReferences()
        try await run.removeObjects(undone: { run.count { $0.undone += 1 } }) {
            try await removeUnreferenced()
        }
    }

    private func listObjects() async throws {
        try await run.forEachByte(where: run.owns) { byte in
            try await store.forEachObject(beginningWith: byte) { page in
                try scratch.add(
                    page.entries.map { digest, listed in
                        let mayGo = listed.modified <= latest
                        return (digest, listed.size, mayGo ? .unreferenced : .referenced)
                    })
                run.count { report in
                    report.objects += page.entries.count
                    for (_, listed) in page.entries { report.bytes.addForeign(listed.size) }
                }
                run.reportProgress()
            }
        }
    }

    private func settleReferences() async throws {
        try await run.forEachByte { part in
            var group: [Listed] = []
            try await store.forEachReference(ofPart: part) { page in
                var groups: [[Listed]] = []
                for reference in page.entries {
                    // A hostile store may list many references to a resource.
                    if let last = group.last, last.name != reference.name || group.count > 1000 {
                        groups.append(group)
                        group = []
                    }
                    group.append(reference)
                }
                try await settle(groups)
                run.count { $0.references += page.entries.count }
                run.reportProgress()
            }
            try await settle([group])
        }
    }

    private func settle(_ groups: [[Listed]]) async throws {
        let kept = Mutex<[Listed]>([])
        var rest = groups[...]
        try await forEach(atOnce: run.width, next: { rest.popFirst() }) { group in
            let left = try await prune(group)
            kept.withLock { $0 += left }
        }
        try await note(kept.withLock { $0 })
    }

    private func prune(_ references: [Listed]) async throws -> [Listed] {
        let oldest = start.addingTimeInterval(-policy.maximumAge)
        let newest = references.max {
            ($0.known.modified, $0.known.digest) < ($1.known.modified, $1.known.digest)
        }
        var kept: [Listed] = []
        for reference in references {
            let isExpired = reference.known.modified < oldest
            let isReplaced = reference.known != newest?.known && reference.known.modified <= latest
            guard run.owns(reference.name.part), isExpired || isReplaced,
                try await remove(reference)
            else {
                kept.append(reference)
                continue
            }
            run.count { report in
                if isExpired { report.expired += 1 } else { report.replaced += 1 }
            }
        }
        return kept
    }

    private func note(_ kept: [Listed]) async throws {
        for (reference, state) in zip(kept, try scratch.refer(to: kept.map(\.known.digest)))
        where state == nil && run.owns(reference.known.digest.firstByte) {
            // The object is newer than the listing, or an eviction was killed after removing it.
            guard try await !run.isThere(reference.known.digest) else { continue }
            if !policy.isDryRun { try await store.storage.delete(reference.key) }
            run.count { $0.undone += 1 }
        }
    }

    /// Returns false, and keeps the reference, if it was renewed after the listing.
    private func remove(_ reference: Listed) async throws -> Bool {
        if policy.isDryRun { return true }
        let now = try await store.storage.head(reference.key)?.modified ?? .distantPast
        // The date in a HEAD response has a resolution of one second.
        guard now.timeIntervalSince(reference.known.modified) < 1 else { return false }
        try await store.storage.delete(reference.key)
        return true
    }

    private func removeUnreferenced() async throws {
        try await run.forEachObject(.unreferenced) { digest, size in
            if !policy.isDryRun {
                let place = RemoteLayout.object(digest)
                let now = try await store.storage.head(place)?.modified ?? .distantFuture
                guard now <= latest else { return }
                try await run.removeObject(digest)
            }
            run.count { report in
                report.evictedObjects += 1
                report.evictedBytes.addForeign(size)
            }
            run.reportProgress()
        }
    }
}

/// The result of a ``RemoteEvictor``.
public struct RemoteEvictionReport: Sendable, RemoteRunReport {
    /// The remote's location, as `s3://bucket/prefix`.
    public internal(set) var location = ""
    /// Whether references and objects were counted, but not removed.
    public internal(set) var isDryRun = false
    /// The number of references.
    public internal(set) var references = 0
    /// The number of objects.
    public internal(set) var objects = 0
    /// The total size of objects, in bytes.
    public internal(set) var bytes: Int64 = 0
    /// The number of references removed because of their age.
    public internal(set) var expired = 0
    /// The number of references removed because the URL has a newer reference.
    public internal(set) var replaced = 0
    /// The number of removed objects.
    public internal(set) var evictedObjects = 0
    /// The total size of removed objects, in bytes.
    public internal(set) var evictedBytes: Int64 = 0
    /// The number of references removed because their object does not exist.
    public internal(set) var undone = 0
    /// The duration in seconds.
    public internal(set) var seconds: Double = 0
    /// Whether the eviction was cancelled. The next eviction removes the rest.
    public internal(set) var isInterrupted = false
}
