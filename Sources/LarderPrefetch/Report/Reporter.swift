import GRDB
import LarderCache
import LarderManifest
import Synchronization

final class Reporter: Sendable {
    private let plan: Plan
    private let channel: EventChannel
    private let namesSuccesses: Bool
    private let isLocking: Bool
    private let state: Mutex<State>

    private struct State {
        var report = Report()
        var progress = Progress()
        var failure: (any Error)?
        /// By manifest, the number of failed icons with a required digest or size, and of those the
        /// number of mismatches.
        var demands: [String: (failed: Int, refused: Int)] = [:]
    }

    init(plan: Plan, channel: EventChannel, namesSuccesses: Bool = true, isLocking: Bool = false) {
        (self.plan, self.channel, self.isLocking) = (plan, channel, isLocking)
        self.namesSuccesses = namesSuccesses || isLocking
        var state = State()
        state.progress.total = plan.summary.missing + plan.summary.stale
        state.progress.failed = plan.summary.remembered + plan.summary.unavailable
        state.report.plan = plan.summary
        self.state = Mutex(state)
    }

    var progress: Progress { state.withLock { $0.progress } }

    func reportSettled() throws {
        if !namesSuccesses { state.withLock { $0.report.addCached() } }
        try plan.forEachSettledEntry(includesCached: namesSuccesses) { page in
            try emit(
                page.map { entry in
                    var result = EntryResult(entry, .cached)
                    guard entry.failure == nil, let object = entry.object else { return result }
                    (result.digest, result.bytes) = (object.digest, object.size)
                    result.attributes = object.attributes
                    return result
                })
        }
    }

    func report(_ fetches: [ResourceResult]) {
        do {
            let named = fetches.filter { fetch in
                guard !namesSuccesses, case .success(let success) = fetch.result,
                    let waiting = fetch.waiting
                else { return true }
                state.withLock { $0.report.add(success, for: waiting) }
                return false
            }
            var results: [EntryResult] = []
            var reported = Set<Int>()
            try plan.forEachEntry(of: named.map(\.id)) { index, page in
                results += page.map { entry in
                    let isFirst = entry.failure == nil && reported.insert(index).inserted
                    return Self.result(of: entry, named[index], isFirst: isFirst)
                }
                guard results.count >= Plan.pageLimit else { return }
                try emit(results)
                results = []
            }
            if !results.isEmpty { try emit(results) }
        } catch {
            let error = (error as? DatabaseError).map { CacheError(index: "the plan", $0) } ?? error
            state.withLock { $0.failure = $0.failure ?? error }
        }
        plan.pending.withLock { for fetch in fetches { $0.remove(fetch.id) } }
        state.withLock { state in
            state.progress.done += fetches.count
            state.progress.failed += fetches.count(where: \.isFailure)
        }
    }

    func finish(after failure: CacheError?) throws -> Report {
        var failure = failure
        do {
            if let failure = state.withLock({ $0.failure }) { throw failure }
            try CacheError.naming("the plan") {
                try plan.forEachUnfinishedEntry { page in
                    try emit(page.map { EntryResult($0, .unfinished) })
                }
            }
        } catch let error as CacheError where error.code == .storage {
            // The plan is on the failed disk, so the unfinished entries have no names.
            failure = failure ?? error
            state.withLock { $0.report.addUnfinished() }
        }
        return state.withLock { [failure] state in
            state.report.failure = failure
            state.report.foreignDemands = zip(plan.manifests, plan.summary.manifests)
                .filter { name, manifest in
                    let count = state.demands[name] ?? (0, 0)
                    return count.refused > 0 && count.failed == manifest.ambiguousDemands
                }
                .map(\.0)
            return state.report
        }
    }

    private func emit(_ results: [EntryResult]) throws {
        if isLocking { try plan.note(locked: results) }
        state.withLock { state in
            for result in results {
                state.report.add(result)
                let entry = result.entry
                guard entry.expectation.isDemanding, result.outcome == .failed else { continue }
                let isRefused = Self.refusals.contains(result.failure?.code ?? "")
                state.demands[entry.manifest, default: (0, 0)].failed += 1
                if isRefused { state.demands[entry.manifest, default: (0, 0)].refused += 1 }
            }
        }
        channel.send(results.map(PrefetchEvent.entry))
    }

    private static let refusals = [
        ResourceFailure.Reason.integrity.rawValue, ResourceFailure.Reason.size.rawValue,
        EntryError.Code.integrityConflict.rawValue,
    ]

    private static func result(
        of entry: PlannedEntry, _ fetch: ResourceResult, isFirst: Bool
    ) -> EntryResult {
        if entry.failure != nil { return EntryResult(entry, .failed) }
        var result: EntryResult
        switch fetch.result {
        case .failure(let failure):
            result = EntryResult(entry, .failed, failure: failure)
            result.seconds = fetch.seconds
        case .success(let success):
            let (digest, size) = (success.digest, success.size ?? 0)
            if let failure = entry.expectation.failure(digest: digest, size: size) {
                result = EntryResult(entry, .failed, failure: failure)
                break
            }
            let isCoalesced = !isFirst && success.outcome != .unstored
            result = EntryResult(entry, isCoalesced ? .coalesced : success.outcome)
            (result.digest, result.bytes) = (digest, success.size)
            result.attributes = success.attributes
            if !isFirst { return result }
            result.seconds = fetch.seconds
        }
        result.attempts = fetch.attempts
        return result
    }
}
