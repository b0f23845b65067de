import LarderCache
import LarderS3
import LarderTransfer
import Synchronization

/// A run that goes through all of a remote, and what it counts.
final class TierRun<Report: TierRunReport>: Sendable {
    let tier: SharedTier
    /// Requests at once.
    let width: Int
    let scratch: RemoteScratch
    private let onProgress: @Sendable (Report) -> Void
    private let state: Mutex<Report>

    fileprivate init(
        _ storage: any ObjectStorage, of remote: Remote,
        _ onProgress: @escaping @Sendable (Report) -> Void
    ) throws {
        tier = SharedTier(storage, maximumListed: remote.maximumListed)
        width = remote.maximumConcurrent
        scratch = try RemoteScratch()
        self.onProgress = onProgress
        state = Mutex(Report(location: storage.subject(nil)))
    }

    fileprivate var report: Report { state.withLock { $0 } }

    func count(_ change: (inout Report) -> Void) { state.withLock { change(&$0) } }

    func tellProgress() { onProgress(report) }

    /// Calls `body`, which lists the objects or references of a byte, for several of the wanted
    /// bytes at once. They are one listing for the limit of names.
    func forEachByte(
        where isWanted: (UInt8) -> Bool = { _ in true },
        _ body: @escaping @Sendable (UInt8) async throws -> Void
    ) async throws {
        tier.listed.reset()
        var bytes = (UInt8.min...UInt8.max).filter(isWanted)[...]
        try await forEach(atOnce: width) {
            try Task.checkCancellation()
            return bytes.popFirst()
        } _: { byte in
            try await body(byte)
        }
    }

    /// Calls `body` for several listed objects of a state at once, in the order of their digests.
    func forEachObject(
        _ state: RemoteScratch.State,
        _ body: @escaping @Sendable (Digest, Int64) async throws -> Void
    ) async throws {
        var page: ArraySlice<(digest: Digest, size: Int64)> = []
        var last: Digest?
        try await forEach(atOnce: width) {
            try Task.checkCancellation()
            if page.isEmpty {
                page = try scratch.objects(state, after: last)[...]
                last = page.last?.digest ?? last
            }
            return page.popFirst()
        } _: { digest, size in
            try await body(digest, size)
        }
    }
}

/// What is told in the end of a run that goes through all of a remote.
protocol TierRunReport: Sendable {
    var seconds: Double { get set }
    var isInterrupted: Bool { get set }
    init(location: String)
}

extension Remote {
    /// Opens the remote, goes through it, and closes it.
    ///
    /// - Throws: what `body` throws. If the task is cancelled, the report says so instead.
    func run<Report: TierRunReport>(
        over transfer: TransferConfiguration,
        onProgress: @escaping @Sendable (Report) -> Void,
        _ body: (TierRun<Report>) async throws -> Void
    ) async throws -> Report {
        let storage = try open(transfer)
        defer { (storage as? S3Storage)?.shutdown() }
        let run = try TierRun(storage, of: self, onProgress)
        let start = ContinuousClock.now
        do {
            try await body(run)
        } catch is CancellationError {
            run.count { $0.isInterrupted = true }
        }
        run.count { $0.seconds = (ContinuousClock.now - start) / .seconds(1) }
        return run.report
    }
}
