import Foundation
import LarderCache
import LarderCore
import Synchronization

/// The stage that stores icons from `data:` URLs in manifests, before the queue starts.
final class InlineStage: Depositor, Sendable {
    private let reporter: Reporter
    private let check: BodyCheck
    private let failure = Mutex<CacheError?>(nil)

    init(_ reporter: Reporter, _ check: BodyCheck) {
        (self.reporter, self.check) = (reporter, check)
    }

    func run(unless isCancelled: () -> Bool) throws -> CacheError? {
        do {
            try check.plan.forEachInline { fetch, key, bytes in
                guard !isCancelled(), failure.withLock({ $0 == nil }) else { return }
                let accepted = DispatchSemaphore(value: 0)
                do {
                    let deposit = try deposit(of: fetch, key, bytes)
                    check.store.add(deposit, for: self) { accepted.signal() }
                } catch let failure as ResourceFailure {
                    // `afterCommits` keeps events in order. The wait limits the failures in memory.
                    check.store.afterCommits { [reporter] in
                        reporter.report([ResourceResult(id: fetch, result: .failure(failure))])
                        accepted.signal()
                    }
                }
                accepted.wait()
            }
        } catch let error as CacheError {
            return error
        }
        check.store.flush()
        return failure.withLock { $0 }
    }

    func committed(_ outcomes: [Store.Outcome]) {
        for outcome in outcomes {
            guard let result = outcome.context as? ResourceResult else { continue }
            switch outcome.result {
            case .success: reporter.report([result])
            case .failure(let error):
                if let failure = ResourceFailure(ofDeposit: error) {
                    reporter.report([ResourceResult(id: result.id, result: .failure(failure))])
                } else {
                    failure.withLock { $0 = $0 ?? error }
                }
            }
        }
    }

    private func deposit(of fetch: Int64, _ key: String, _ bytes: Data) throws -> Deposit {
        let body = try check.store.newBody { append in try bytes.withUnsafeBytes(append) }
        let (content, success) = try check.stage(
            body, digest: body.finish(), of: fetch, hasExpectation: true, mayStore: true)
        var validators = Validators()
        validators.cacheControl = "max-age=31536000, immutable"
        return Deposit(
            context: ResourceResult(id: fetch, result: .success(success)), key: key,
            url: ResourceKey.name(of: success.digest), validators: validators, receivedAt: Date(),
            content: content)
    }
}
