import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// The stage that copies missing objects from a remote, before any request to an origin.
final class PullStage: Depositor, Sendable {
    private let context: RemoteContext
    private let state = Mutex((failure: CacheError?.none, hasLooked: false))

    private struct Deposited: Sendable {
        let result: ResourceResult
        let receivedBytes: Int64
        /// If false, the queue revalidates the resource at its origin.
        let isFresh: Bool
    }

    init(_ context: RemoteContext) { self.context = context }

    private var plan: Plan { context.plan }
    private var remote: Remote { context.remote }
    private var remoteStore: RemoteStore { context.remoteStore }
    private var tally: RemoteTally { context.tally }
    var hasLooked: Bool { state.withLock { $0.hasLooked } }

    func run() async throws {
        try await look()
        guard remote.use != .store, !context.policy.fetchesAll else { return }
        // Twins share an earlier resource's object. They come last, when that object is cached.
        for areTwins in try plan.noteTwins() ? [false, true] : [false] {
            var found = Pages<Plan.FoundFetch> { [self] last in
                try isStopped ? [] : plan.foundFetches(areTwins: areTwins, after: last?.fetch.place)
            }
            try await forEach(atOnce: remote.maximumConcurrent) {
                try Task.checkCancellation()
                return try found.next()
            } _: { [self] in
                try await pull($0)
            }
            context.store.flush()
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    func failRest() {
        let failure =
            tally.failure.map { ResourceFailure($0) }
            ?? ResourceFailure(.notInRemote, "the remote does not have this icon")
        while case let rest = plan.pendingFetches(), !rest.isEmpty {
            context.reporter.report(rest.map { ResourceResult(id: $0, result: .failure(failure)) })
        }
    }

    private func look() async throws {
        try plan.prepareRemote()
        var parts = try plan.wantedParts()[...]
        let width = remote.maximumConcurrent
        try await forEach(atOnce: width, next: { parts.popFirst() }) { [plan, remoteStore] part in
            try await remoteStore.look(in: part, atOnce: width) {
                try plan.wantedNames(in: part, after: $0)
            } found: {
                try plan.note(found: $0, in: part)
            }
        }
        try plan.orderFound()
        state.withLock { $0.hasLooked = true }
    }

    private var isStopped: Bool { tally.isGivenUp || state.withLock { $0.failure != nil } }

    private func pull(_ found: Plan.FoundFetch) async throws {
        guard !isStopped else { return }
        if isFreshAsListed(found) { return await leave(found, nil) }
        let (fetch, known) = found
        let start = ContinuousClock.now
        do {
            let first = try await receiveFirst(found)
            let reference =
                if let copy = first?.reference { copy } else {
                    try await remoteStore.reference(key: fetch.key, url: fetch.url, known.digest)
                }
            let record = reference.record
            guard
                try !fetch.hasExpectation
                    || plan.mismatch(of: known.digest, size: record.size, by: fetch.id) == nil
            else { return }
            let isFresh = isFresh(reference, found)
            if isFresh, remote.use == .fill { return await leave(found, reference) }
            let limit = context.maximumObjectBytes
            let place = remoteStore.storage.subject(RemoteLayout.object(known.digest))
            guard record.size <= limit else {
                let message = "the object has \(record.size) bytes; the limit is \(limit)"
                return fail(
                    fetch.id, ResourceFailure(RemoteError(.tooLarge, subject: place, message)))
            }
            var cached: StagedBody?
            if first == nil, let object = try? context.cache.object(known.digest) {
                cached = try? context.store.newBody { append in
                    try context.cache.forEachPiece(of: object, append)
                }
            }
            let body =
                if let held = cached ?? first?.body { held } else { try await receive(known).body }
            let digest = try body.finish()
            guard digest == known.digest else {
                throw RemoteError(.corrupt, subject: place, "the bytes do not match the digest")
            }
            // Received bytes replace the cache's object, which may be damaged.
            let (content, success) = try context.check.stage(
                body, digest: digest, of: fetch.id, hasExpectation: fetch.hasExpectation,
                mayStore: true, isReplacing: cached == nil, outcome: .pulled)
            let result = ResourceResult(
                id: fetch.id, result: .success(success), waiting: fetch.waiting, attempts: 1,
                seconds: (ContinuousClock.now - start) / .seconds(1))
            let deposit = Deposit(
                context: Deposited(
                    result: result, receivedBytes: cached == nil ? body.count : 0,
                    isFresh: isFresh),
                key: fetch.key, url: fetch.url, responseURL: record.responseUrl,
                validators: reference.validators, variant: reference.variant,
                // The store uses the earlier of this time and the time from the header fields.
                redirectsFreshUntil: record.freshUntil, receivedAt: record.fetchedAt,
                content: content)
            await withCheckedContinuation { accepted in
                context.store.add(deposit, for: self) { accepted.resume() }
            }
        } catch let error as RemoteError {
            tally.note(error)
            guard !tally.isGivenUp else { return }
            try plan.markUnusable(fetch.id)
            fail(fetch.id, ResourceFailure(error))
        } catch let error as ResourceFailure {
            fail(fetch.id, error)
        } catch let error as CacheError {
            state.withLock { $0.failure = $0.failure ?? error }
        }
    }

    /// Receives an object and any copy of its reference. Nil if the reference must be read first.
    private func receiveFirst(_ found: Plan.FoundFetch) async throws -> RemoteStore.Received? {
        let (fetch, known) = found
        guard remote.use != .fill, try context.cache.object(known.digest) == nil,
            try !fetch.hasExpectation || plan.names(known.digest, by: fetch.id)
        else { return nil }
        do {
            var received = try await receive(known)
            // A renewal writes only the reference, so the copy may be older.
            let oldest = known.modified.addingTimeInterval(-RemoteStore.Known.clockSkew)
            if let reference = received.reference,
                !reference.resourceKey.isSame(as: fetch.key) || reference.record.fetchedAt < oldest
            {
                received.reference = nil
            }
            return received
        } catch let error as RemoteError where [.tooLarge, .notFound].contains(error.code) {
            // The reference is read next, because it may show a different reason for the failure.
            return nil
        }
    }

    private func receive(_ known: RemoteStore.Known) async throws -> RemoteStore.Received {
        try await remoteStore.receive(
            known.digest, limit: context.maximumObjectBytes, into: context.store)
    }

    private func fail(_ fetch: Int64, _ failure: ResourceFailure) {
        guard remote.use == .only else { return }
        context.report([ResourceResult(id: fetch, result: .failure(failure))])
    }

    private func isFresh(_ reference: Reference, _ found: Plan.FoundFetch) -> Bool {
        if remote.use == .only { return true }
        let (fetch, known) = found
        let resource = NamedResource(
            id: fetch.id, key: fetch.key, url: fetch.url,
            hasCredentials: fetch.credentials != nil, priority: 0)
        let row = NamedResource.Known(
            object: 0, digest: known.digest, size: reference.record.size,
            isImage: reference.record.mediaType != nil, isFresh: reference.isFresh(at: Date()),
            isImmutable: CacheControl(reference.validators.cacheControl).isImmutable,
            isUseDue: false, redirectedTo: reference.record.responseUrl,
            variant: reference.validators.vary.map { .stored(reference.variant, vary: $0) })
        return resource.mayBeUsed(row, policy: context.policy, headers: context.headers)
    }

    private func isFreshAsListed(_ found: Plan.FoundFetch) -> Bool {
        guard remote.use == .fill, let limit = remote.freshFor, !found.fetch.hasExpectation,
            context.policy.revalidation != .always
        else { return false }
        return found.known.modified.addingTimeInterval(limit / .seconds(1)) > Date()
    }

    /// Reports a resource left in the remote. Waits, so that unreported ones do not accumulate.
    private func leave(_ found: Plan.FoundFetch, _ reference: Reference?) async {
        let record = reference?.record
        let success = ResourceResult.Success(
            digest: found.known.digest, size: record?.size,
            attributes: ObjectAttributes(mediaType: record?.mediaType), outcome: .shared)
        let result = ResourceResult(
            id: found.fetch.id, result: .success(success), waiting: found.fetch.waiting,
            attempts: 1)
        await withCheckedContinuation { reported in
            context.store.afterCommits { [context] in
                context.report([result])
                reported.resume()
            }
        }
    }

    func committed(_ outcomes: [Store.Outcome]) {
        var results: [ResourceResult] = []
        var stale: [Int64] = []
        for outcome in outcomes {
            guard let deposited = outcome.context as? Deposited else { continue }
            let id = deposited.result.id
            switch outcome.result {
            case .success where deposited.isFresh: results.append(deposited.result)
            case .success: stale.append(id)
            case .failure(let error):
                // The queue fetches icons whose objects were evicted or obstructed.
                if let failure = ResourceFailure(ofDeposit: error) {
                    fail(id, failure)
                } else {
                    state.withLock { $0.failure = $0.failure ?? error }
                }
                continue
            }
            tally.count { report in
                report.pulled += 1
                report.pulledBytes += deposited.receivedBytes
            }
        }
        context.report(results)
        plan.pending.withLock { for fetch in stale { $0.markStale(fetch) } }
    }
}
