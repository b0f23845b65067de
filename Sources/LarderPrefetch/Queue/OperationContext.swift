import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderImages
import Logging
import Synchronization

/// The parts that all operations of a run share.
final class OperationContext: Sendable {
    let loop: TransferLoop
    let work = StagingLanes(primary: DispatchQueue(label: "larder.feeder"))
    let store: Store
    let policy: RequestPolicy
    private let check: BodyCheck
    let logger: Logger?
    private let received = Atomic<Int64>(0)
    private let requests = Atomic<Int>(0)

    struct Deposited: Sendable {
        let fetch: Attempt
        let result: ResourceResult
    }

    init(
        loop: TransferLoop, store: Store, policy: RequestPolicy, check: BodyCheck, logger: Logger?
    ) {
        self.logger = logger
        self.loop = loop
        self.store = store
        self.policy = policy
        self.check = check
    }

    func newBody(
        for transfer: TransferID, head: ResponseHead, continuing partial: PartialBody?
    ) throws(CacheError) -> StagedBody {
        guard let partial else {
            let expected = head.headers[first: "Content-Length"].flatMap { Int($0) }
            return store.newBody(expecting: expected) { [loop] in loop.resume(transfer) }
        }
        return try store.newBody(continuing: partial) { [loop] in loop.resume(transfer) }
    }

    /// Keeps an interrupted body if its rest can be requested later.
    func keep(_ body: StagedBody, of fetch: Attempt, head: ResponseHead, resumed: Validators?) {
        let fields = validators(of: head, resumed: resumed)
        guard body.count > StagedBody.memoryLimit,
            let validator = Resumption.validator(of: head, fields),
            policy.mayStore(fields)
        else { return }
        store.partials.keep(
            body, of: fetch.target.url.string, validator: validator, fields: fields,
            totalBytes: Resumption.totalBytes(head))
    }

    private func validators(of head: ResponseHead, resumed: Validators?) -> Validators {
        let fields = Validators(head.headers.all)
        return resumed.map(fields.completed) ?? fields
    }

    func lengthFailure(of body: StagedBody, _ head: ResponseHead) -> ResourceFailure? {
        guard head.status == 206, let total = Resumption.totalBytes(head), body.count != total
        else { return nil }
        let message = "\(body.count) of \(total) bytes came"
        return body.count < total
            ? ResourceFailure(TransferError(code: .bodyTruncated, message: message))
            : ResourceFailure(.range, message)
    }

    /// Checks and stages a whole body, and hands it to the store. Calls `done` once, when the store
    /// has room for another. `resumed` are the fields of the response that this one continues.
    func deposit(
        _ fetch: Attempt, head: ResponseHead, body: StagedBody?, resumed: Validators?,
        metrics: TransferMetrics, for depositor: any Depositor,
        done: @escaping @Sendable (TransferOperation.Outcome) -> Void
    ) {
        do {
            var validators = validators(of: head, resumed: resumed)
            let (content, success) = try settle(fetch, validators, body: body)
            let result = ResourceResult(
                id: fetch.planned.id, result: .success(success), waiting: .init(for: fetch.planned),
                attempts: fetch.attempt, seconds: fetch.elapsed)
            if success.outcome == .revalidated, let known = fetch.askedAbout {
                validators = validators.completed(from: known.validators)
            }
            if isPersonal(fetch.planned) {
                validators.cacheControl = CacheControl.ofPersonal(validators.cacheControl)
            }
            store.add(
                Deposit(
                    context: Deposited(fetch: fetch, result: result), key: fetch.planned.key,
                    url: fetch.planned.url, responseURL: fetch.target.url.string,
                    validators: validators,
                    variant: policy.variant(validators, at: fetch.target),
                    redirectsFreshUntil: fetch.target.redirectsFreshUntil, receivedAt: Date(),
                    delay: metrics.total / .seconds(1), content: content),
                for: depositor
            ) { done(.deposited) }
        } catch let failure as ResourceFailure {
            done(.failed(failure))
        } catch let fault as ImageError {
            // Without a length or chunks, in HTTP/1, a lost connection looks like the end.
            let isFramed =
                head.headers[first: "Content-Length"] != nil
                || head.headers[first: "Transfer-Encoding"] != nil
                || !head.protocolVersion.utf8.starts(with: "1.".utf8)
            done(.failed(ResourceFailure(fault, mayBeCut: !isFramed)))
        } catch let error as CacheError {
            done(.broken(error))
        } catch {
            let subject = "\(fetch.target.url)".maskingQuery
            done(.broken(CacheError(.unusable, subject: subject, message: "\(error)")))
        }
    }

    private func isPersonal(_ fetch: PlannedResource) -> Bool {
        guard let url = try? HTTPURL(fetch.url) else { return false }
        return policy.headers.arePersonal(for: url, hasCredentials: fetch.credentials != nil)
    }

    /// Remembers a failure, and reports it in turn with the store's commits.
    func remember(
        _ failure: ResourceFailure, of fetch: Attempt, _ result: ResourceResult,
        for depositor: any Depositor
    ) {
        store.add(
            Deposit(
                context: Deposited(fetch: fetch, result: result), key: fetch.planned.key,
                url: fetch.planned.url, receivedAt: Date(),
                content: .failed(code: failure.code, status: failure.status)),
            for: depositor)
    }

    var receivedBytes: Int64 { received.load(ordering: .relaxed) }

    func count(received bytes: Int) {
        received.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    var requestsUnderWay: Int { requests.load(ordering: .relaxed) }
    func countRequest(_ change: Int) { requests.wrappingAdd(change, ordering: .relaxed) }

    private func settle(
        _ fetch: Attempt, _ validators: Validators, body: StagedBody?
    ) throws -> (Deposit.Content, ResourceResult.Success) {
        guard let body else {
            guard let known = fetch.askedAbout else { throw ResourceFailure(status: 304) }
            let content = try policy.confirmation(of: known, by: validators)
            let object = known.object
            let success = ResourceResult.Success(
                digest: object.digest, size: object.size, attributes: object.attributes,
                outcome: .revalidated)
            return (content, success)
        }
        return try check.stage(
            body, of: fetch.planned.id, hasExpectation: fetch.planned.hasExpectation,
            mayStore: policy.mayStore(validators))
    }
}

/// Validates a response body (its digest, its size, and that it is a whole image) and stages it.
struct BodyCheck: Sendable {
    let plan: Plan
    let store: Store
    let acceptsAnyContent: Bool

    struct OtherBytes: Error {}

    /// Digests, checks and stages a whole body. Unless `mayStore`, only checks it.
    func stage(
        _ body: StagedBody, of fetch: Int64, hasExpectation: Bool, mayStore: Bool,
        named name: Digest? = nil, outcome: EntryResult.Outcome = .fetched
    ) throws -> (Deposit.Content, ResourceResult.Success) {
        let digest = try body.finish()
        if let name, name != digest { throw OtherBytes() }
        if hasExpectation,
            let failure = try plan.mismatch(of: digest, size: body.count, by: fetch)
        {
            throw failure
        }
        let attributes = try attributes(of: body)
        let success = ResourceResult.Success(
            digest: digest, size: body.count, attributes: attributes,
            outcome: mayStore ? outcome : .unstored)
        guard mayStore else { return (.unstored, success) }
        return (.staged(try store.stage(body, digest: digest, attributes: attributes)), success)
    }

    private func attributes(of body: StagedBody) throws -> ObjectAttributes {
        do {
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            return ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch is ImageError where acceptsAnyContent {
            return ObjectAttributes()
        }
    }
}
