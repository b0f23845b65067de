import Foundation
import LarderCache
import Synchronization

/// Stores the icons that manifests hold themselves, as `data:` URLs: checked, digested and made durable like any
/// other, and without a transfer. Runs before the queue, which then finds them done.
struct InlineStage {
    let plan: Plan
    let store: Store
    let reporter: Reporter
    let acceptsAnyContent: Bool
    let isCancelled: () -> Bool

    private final class Deposits: Sendable {
        let results = Mutex<[Int64: FetchResult]>([:])
        let failure = Mutex<CacheError?>(nil)
    }

    /// - Returns: why the cache could not go on.
    func run() throws -> CacheError? {
        let deposits = Deposits()
        store.onCommit { [reporter] outcomes in
            for outcome in outcomes {
                guard
                    let result = deposits.results.withLock({ $0.removeValue(forKey: outcome.token) }
                    )
                else { continue }
                switch outcome.result {
                case .success: reporter.report([result])
                case .failure(let error) where error.code == .obstructed:
                    reporter.report([
                        Self.result(FetchFailure(.obstructed, error.description), outcome.token)
                    ])
                case .failure(let error) where error.code == .missing:
                    reporter.report([
                        Self.result(FetchFailure(.evicted, error.description), outcome.token)
                    ])
                case .failure(let error): deposits.failure.withLock { $0 = $0 ?? error }
                }
            }
        }
        do {
            try plan.forEachInline { fetch, key, bytes in
                guard !isCancelled(), deposits.failure.withLock({ $0 == nil }) else { return }
                do {
                    try deposit(fetch, key, bytes, deposits)
                } catch let failure as FetchFailure {
                    report(failure, of: fetch)
                } catch let fault as ImageFault {
                    report(FetchFailure(fault, mayBeCut: false), of: fetch)
                }
            }
        } catch let error as CacheError {
            return error
        }
        store.flush()
        return deposits.failure.withLock { $0 }
    }

    private func deposit(
        _ fetch: Int64, _ key: String, _ bytes: Data, _ deposits: Deposits
    ) throws {
        let drained = DispatchSemaphore(value: 0)
        let body = store.newBody { drained.signal() }
        try bytes.withUnsafeBytes { bytes in
            while try body.append(bytes) == .full { drained.wait() }
        }
        let digest = try body.finish()
        let expectations = try plan.expectations(of: fetch)
        let refusals = expectations.map { $0.refusal(digest: digest, size: body.count) }
        if let refusal = refusals.first ?? nil, !refusals.contains(where: { $0 == nil }) {
            throw refusal
        }
        let attributes = try inspect(body)
        let staged = try store.stage(body, digest: digest, attributes: attributes)
        deposits.results.withLock {
            $0[fetch] = FetchResult(
                id: fetch,
                result: .success(
                    .init(
                        digest: digest, size: body.count, attributes: attributes,
                        isRevalidation: false, isStored: true)),
                waiting: nil, attempts: 0, seconds: 0)
        }
        // The bytes are the manifest's, and do not age.
        var validators = Validators()
        validators.cacheControl = "max-age=31536000, immutable"
        let accepted = DispatchSemaphore(value: 0)
        store.add(
            Deposit(
                token: fetch, key: key, url: ResourceKey.name(of: digest), validators: validators,
                receivedAt: Date(), content: .staged(staged))
        ) { accepted.signal() }
        accepted.wait()
    }

    private func inspect(_ body: StagedBody) throws -> ObjectAttributes {
        do {
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            return ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch is ImageFault where acceptsAnyContent {
            return ObjectAttributes()
        }
    }

    /// After the batches before it, beside none of which the reporter may be called.
    private func report(_ failure: FetchFailure, of fetch: Int64) {
        store.afterCommits { [reporter] in reporter.report([Self.result(failure, fetch)]) }
    }

    private static func result(_ failure: FetchFailure, _ fetch: Int64) -> FetchResult {
        FetchResult(id: fetch, result: .failure(failure), waiting: nil, attempts: 0, seconds: 0)
    }
}
