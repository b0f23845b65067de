import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// The stage that stores committed objects, and then other missing objects, in the remote.
final class PushStage: Sendable {
    /// The maximum number of waiting objects. If the process is killed, they are fetched again.
    private static let capacity = 512
    private static let rememberedLimit = 65_536
    private let context: RemoteContext
    private let committed = Channel<Int64>(capacity: capacity)
    private let state = Mutex(
        (task: nil as Task<Void, any Error>?, isStopping: false, stored: Set<Digest>()))

    init(_ context: RemoteContext) { self.context = context }

    private var tally: RemoteTally { context.tally }
    private var isStopping: Bool { state.withLock { $0.isStopping } }

    func begin(isLookedUp: Bool) {
        let new = Task { [self] in
            // Commits must not wait for a stage that has ended.
            defer { committed.abandon() }
            try await run(isLookedUp: isLookedUp)
        }
        state.withLock { $0.task = new }
    }

    /// Blocks while too many results are pending.
    func add(_ results: [ResourceResult]) {
        let outcomes: [EntryResult.Outcome?] = [.fetched, .revalidated]
        let stored = results.filter { outcomes.contains((try? $0.result.get())?.outcome) }
        committed.send(stored.map(\.id))
    }

    func finish() throws {
        committed.finish(.success(()))
        guard let task = state.withLock({ $0.task }) else { return }
        do { try waitForTask { try await task.value } } catch is CancellationError {}
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        let end = DispatchTime.now() + context.grace / .seconds(1)
        DispatchQueue.global().asyncAfter(deadline: end) { [weak self] in
            self?.state.withLock { $0.task }?.cancel()
        }
    }

    private func run(isLookedUp: Bool) async throws {
        var page: ArraySlice<Plan.Shareable> = []
        let width = context.remote.maximumConcurrent
        try await forEach(atOnce: width) {
            while page.isEmpty, case let fetches = try await committed.next(), !fetches.isEmpty {
                page = try context.plan.shareables(fetches)[...]
            }
            return page.popFirst()
        } _: { [self] in
            try await push($0, wasCached: false)
        }
        var kept = Pages<Plan.Shareable> { [self] last in
            // After a stop, cached objects are not stored. They are counted if they were looked up.
            guard isLookedUp || !isStopping, !Task.isCancelled else { return [] }
            return try context.plan.cachedShareables(after: last?.id ?? 0)
        }
        try await forEach(atOnce: width, next: { try kept.next() }) { [self] in
            try await push($0, wasCached: true)
        }
    }

    private func push(_ item: Plan.Shareable, wasCached: Bool) async throws {
        guard let resource = try context.cache.resource(item.key) else { return }
        if wasCached, let known = item.known,
            resource.receivedAt <= known.modified.addingTimeInterval(RemoteStore.Known.clockSkew)
        {
            return tally.count { $0.present += 1 }
        }
        guard (try? HTTPURL(item.url)) != nil,
            CacheControl(resource.validators.cacheControl).mayBeShared(
                isPersonal: context.headers.arePersonal(
                    for: item.url, hasCredentials: item.hasCredentials))
        else { return tally.count { $0.personal += 1 } }
        guard !tally.isGivenUp, !isStopping else { return tally.count { $0.unpushed += 1 } }
        let digest = resource.object.digest
        let isThere =
            item.isUsable && item.known?.digest == digest
            || state.withLock { $0.stored.contains(digest) }
        do {
            let bytes = try await context.remoteStore.keep(
                resource, of: context.cache, replacing: item.known, isThere: isThere)
            state.withLock { state in
                if state.stored.count >= Self.rememberedLimit { state.stored = [] }
                state.stored.insert(digest)
            }
            return tally.count { report in
                report.pushed += 1
                report.pushedBytes += bytes
            }
        } catch let error as RemoteError {
            tally.note(error)
        } catch is CancellationError {
        } catch let error as CacheError where error.isOfDamagedObject {
            // `verify` reports damaged objects.
            tally.count { $0.firstFault = $0.firstFault ?? error.description }
        }
        tally.count { $0.unpushed += 1 }
    }
}
