import LarderCore
import LarderHTTP
import Synchronization

final class RemoteRun<Report: RemoteRunReport>: Sendable {
    let store: RemoteStore
    let width: Int
    let scratch: RemoteScratch
    private let shard: Shard?
    private let onProgress: @Sendable (Report) -> Void
    private let state: Mutex<Report>

    init(
        _ remote: Remote, over transfer: TransferConfiguration, shard: Shard?,
        onProgress: @escaping @Sendable (Report) -> Void
    ) throws {
        scratch = try RemoteScratch()
        let storage = try remote.open(transfer)
        store = RemoteStore(storage, maximumListed: remote.maximumListed)
        (width, self.shard, self.onProgress) = (remote.maximumConcurrent, shard, onProgress)
        var report = Report()
        report.location = storage.subject(nil)
        state = Mutex(report)
    }

    func finish(_ body: () async throws -> Void) async throws -> Report {
        defer { (store.storage as? S3Bucket)?.shutdown() }
        let start = ContinuousClock.now
        do {
            try await body()
        } catch is CancellationError {
            count { $0.isInterrupted = true }
        }
        count { $0.seconds = (ContinuousClock.now - start) / .seconds(1) }
        return report
    }

    private var report: Report { state.withLock { $0 } }
    func count(_ change: (inout Report) -> Void) { state.withLock { change(&$0) } }
    func reportProgress() { onProgress(report) }
    func owns(_ byte: UInt8) -> Bool { shard?.owns(Part(number: byte)) ?? true }

    /// Calls `body` for each part number or first digest byte. All listings share one limit.
    func forEachByte(
        where isWanted: (UInt8) -> Bool = { _ in true },
        _ body: @escaping @Sendable (UInt8) async throws -> Void
    ) async throws {
        store.beginListing()
        var bytes = (UInt8.min...UInt8.max).filter(isWanted)[...]
        try await forEach(
            atOnce: width,
            next: {
                try Task.checkCancellation()
                return bytes.popFirst()
            }, body)
    }

    func forEachObject(
        _ state: RemoteScratch.State,
        _ body: @escaping @Sendable (Digest, Int64) async throws -> Void
    ) async throws {
        var objects = scratch.objects(state)
        try await forEach(atOnce: width) {
            try Task.checkCancellation()
            return try objects.next()
        } _: {
            try await body($0.digest, $0.size)
        }
    }
}

protocol RemoteRunReport: Sendable {
    var location: String { get set }
    var seconds: Double { get set }
    var isInterrupted: Bool { get set }
    init()
}

extension RemoteRun {
    /// Calls `body`, which removes objects. Then removes new references to them, and calls `undone`
    /// for each (see ``RemoteEvictor``).
    func removeObjects(
        undone: @escaping @Sendable () -> Void = {}, _ body: () async throws -> Void
    ) async throws {
        var failure: (any Error)?
        do { try await body() } catch { failure = error }
        // Needed even after an error or cancellation. A new task does not inherit the cancellation.
        try await Task { try await removeNewReferences(undone) }.value
        if let failure { throw failure }
    }

    /// Must be called within ``removeObjects(undone:_:)``.
    func removeObject(_ digest: Digest) async throws {
        // Recorded first, because a request whose response is lost may still remove the object. The
        // request is not cancelled, because the store could still execute it after the check.
        try scratch.set(.removed, of: digest)
        try await Task { try await store.storage.delete(RemoteLayout.object(digest)) }.value
    }

    private func removeNewReferences(_ undone: @escaping @Sendable () -> Void) async throws {
        guard try scratch.count(.removed) > 0 else { return }
        try await forEachByte { [self] part in
            try await store.forEachReference(ofPart: part) { page in
                let states = try scratch.refer(to: page.entries.map(\.known.digest))
                for (reference, state) in zip(page.entries, states) where state == .removed {
                    guard try await !isThere(reference.known.digest) else { continue }
                    try await store.storage.delete(reference.key)
                    undone()
                }
            }
        }
    }

    func isThere(_ digest: Digest) async throws -> Bool {
        try await store.storage.head(RemoteLayout.object(digest)) != nil
    }
}

struct Pages<Item> {
    private let read: (_ last: Item?) throws -> [Item]
    private var page: ArraySlice<Item> = []
    private var last: Item?

    init(_ read: @escaping (_ last: Item?) throws -> [Item]) { self.read = read }

    mutating func next() throws -> Item? {
        if page.isEmpty {
            page = try read(last)[...]
            last = page.last ?? last
        }
        return page.popFirst()
    }
}

/// Calls `body` for all items, at most `width` at once. The first error cancels the other calls.
func forEach<Item: Sendable>(
    atOnce width: Int, next: () async throws -> Item?,
    _ body: @escaping @Sendable (Item) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        var running = 0
        while let item = try await next() {
            if running == width {
                try await group.next()
                running -= 1
            }
            group.addTask { try await body(item) }
            running += 1
        }
        try await group.waitForAll()
    }
}
