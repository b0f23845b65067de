import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderImages
import Logging
import Synchronization

final class OperationContext: Sendable {
    let loop: TransferLoop
    let lanes: StagingLanes
    let policy: RequestPolicy
    private let check: BodyCheck
    let logger: Logger?
    let receivedBytes = Atomic<Int64>(0)
    var store: Store { check.store }

    struct Deposited: Sendable {
        let fetch: Attempt
        let result: ResourceResult
    }

    init(loop: TransferLoop, policy: RequestPolicy, check: BodyCheck, logger: Logger?) {
        (self.loop, self.policy, self.check, self.logger) = (loop, policy, check, logger)
        // Unlike `loop.perform`, `queue.async` does not wake the loop.
        lanes = StagingLanes(release: { [queue = loop.queue] work in queue.async { _ = work } })
    }

    func partial(of fetch: Attempt) -> PartialBody? {
        guard let partial = store.partials.take(fetch.target.url.string) else { return nil }
        logger?.info(
            "resuming a body",
            metadata: ["url": fetch.target.url.logged, "offset": "\(partial.trailer.count)"])
        return partial
    }

    func newBody(
        for transfer: TransferID, head: ResponseHead, continuing partial: PartialBody?
    ) throws(CacheError) -> StagedBody {
        guard let partial else {
            let expected = head.headers[first: "Content-Length"].flatMap { Int($0) }
            return store.newBody(expecting: expected) { [loop] in loop.resume(transfer) }
        }
        return try StagedBody(continuing: partial) { [loop] in loop.resume(transfer) }
    }

    private func validators(of head: ResponseHead, resumed: Validators?) -> Validators {
        let fields = Validators(head.headers.all)
        return resumed.map(fields.completed) ?? fields
    }

    /// Deposits a response. Returns nil, or the outcome if the response was not deposited. Calls
    /// `accepted` when the store accepts further deposits.
    func settle(
        _ fetch: Attempt, _ response: TransferOperation.Response, isCancelled: Bool,
        for depositor: any Depositor, accepted: @escaping @Sendable () -> Void
    ) -> RequestOutcome? {
        switch response.result {
        case .failure(let error) where error.code == .outOfFiles:
            // Without file descriptors, the cache cannot open files either.
            return .broken(CacheError("connect", subject: "\(fetch.target.url)", errno: EMFILE))
        case .failure(let error):
            return interrupted(fetch, response, ResourceFailure(error), isCancelled)
        case .success(let metrics):
            // An interrupted run does not wait for the check of a large body.
            guard let head = response.head, !isCancelled else { return .failed(Self.cancellation) }
            if let body = response.body,
                let failure = Resumption.failure(of: head, receivedBytes: body.count)
            {
                // A body that is too long cannot be resumed.
                let isTooLong = failure.code == ResourceFailure.Reason.range.rawValue
                if isTooLong, response.resumed != nil { return .restart }
                return isTooLong
                    ? .failed(failure) : interrupted(fetch, response, failure, isCancelled)
            }
            return deposit(fetch, head, response, metrics, for: depositor, accepted)
        case nil: return .failed(Self.cancellation)
        }
    }

    private static let cancellation = ResourceFailure(.cancelled, "interrupted")

    private func interrupted(
        _ fetch: Attempt, _ response: TransferOperation.Response, _ failure: ResourceFailure,
        _ isCancelled: Bool
    ) -> RequestOutcome {
        if let head = response.head, let body = response.body, body.count > StagedBody.memoryLimit,
            failure.isTransient || isCancelled,
            case let fields = validators(of: head, resumed: response.resumed),
            let validator = Resumption.validator(of: head, fields), policy.mayStore(fields)
        {
            store.partials.keep(
                body, of: fetch.target.url.string, validator: validator, fields: fields,
                totalBytes: Resumption.totalBytes(head))
        }
        return .failed(failure)
    }

    private func deposit(
        _ fetch: Attempt, _ head: ResponseHead, _ response: TransferOperation.Response,
        _ metrics: TransferMetrics, for depositor: any Depositor,
        _ accepted: @escaping @Sendable () -> Void
    ) -> RequestOutcome? {
        do {
            var validators = validators(of: head, resumed: response.resumed)
            let content: Deposit.Content
            let success: ResourceResult.Success
            if let body = response.body {
                (content, success) = try check.stage(
                    body, digest: body.finish(), of: fetch.planned.id,
                    hasExpectation: fetch.planned.hasExpectation,
                    mayStore: policy.mayStore(validators), isReplacing: policy.replacesObjects,
                    unknownCoding: head.headers.unknownContentCoding,
                    // In HTTP/1, a body without a length or chunks ends with the connection.
                    mayBeCut: head.headers[first: "Content-Length"] == nil
                        && head.headers[first: "Transfer-Encoding"] == nil
                        && head.protocolVersion.utf8.starts(with: "1.".utf8))
            } else {
                guard let known = fetch.askedAbout else { throw ResourceFailure(status: 304) }
                let object = known.object
                content = try policy.confirmation(of: known, by: validators)
                success = ResourceResult.Success(
                    digest: object.digest, size: object.size, attributes: object.attributes,
                    outcome: .revalidated)
                validators = validators.completed(from: known.validators)
            }
            let result = ResourceResult(
                id: fetch.planned.id, result: .success(success), waiting: fetch.planned.waiting,
                attempts: fetch.attempt, seconds: fetch.elapsed)
            let hasCredentials = fetch.planned.credentials != nil
            if policy.headers.arePersonal(for: fetch.planned.url, hasCredentials: hasCredentials) {
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
                for: depositor, accepted: accepted)
            return nil
        } catch let failure as ResourceFailure {
            // If the body was resumed, the new bytes may not belong to the partial body.
            return response.resumed != nil ? .restart : .failed(failure)
        } catch let error as CacheError {
            return .broken(error)
        } catch {
            let subject = "\(fetch.target.url)".maskingQuery
            return .broken(CacheError(.unusable, subject: subject, message: "\(error)"))
        }
    }
}

struct BodyCheck: Sendable {
    let plan: Plan
    let store: Store
    let acceptsAnyContent: Bool

    /// Checks and stages a body. Throws `ResourceFailure` if the body is refused, or `CacheError`.
    func stage(
        _ body: StagedBody, digest: Digest, of fetch: Int64, hasExpectation: Bool, mayStore: Bool,
        isReplacing: Bool = false, unknownCoding: String? = nil,
        mayBeCut: @autoclosure () -> Bool = false, outcome: EntryResult.Outcome = .fetched
    ) throws -> (Deposit.Content, ResourceResult.Success) {
        let failure =
            hasExpectation ? try plan.mismatch(of: digest, size: body.count, by: fetch) : nil
        if let failure { throw failure }
        let attributes = try body.withBytes {
            try Self.attributes(
                of: $0, acceptsAnyContent: acceptsAnyContent, unknownCoding: unknownCoding,
                isDemanded: plan.names(digest, by: fetch), mayBeCut: mayBeCut())
        }
        let success = ResourceResult.Success(
            digest: digest, size: body.count, attributes: attributes,
            outcome: mayStore ? outcome : .unstored)
        guard mayStore else { return (.unstored, success) }
        let staged = try store.stage(
            body, digest: digest, attributes: attributes, isReplacing: isReplacing)
        return (.staged(staged), success)
    }

    /// Bytes that are not an image require `acceptsAnyContent`. If their coding is unknown, a
    /// manifest must also contain their digest (`isDemanded`).
    static func attributes(
        of bytes: UnsafeRawBufferPointer, acceptsAnyContent: Bool, unknownCoding: String?,
        isDemanded: @autoclosure () throws -> Bool = false,
        mayBeCut: @autoclosure () -> Bool = false
    ) throws -> ObjectAttributes {
        do throws(ImageError) {
            let image = try ImageInspector.inspect(bytes)
            return ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch {
            if let unknownCoding, acceptsAnyContent || error.code == .notAnImage,
                try !acceptsAnyContent || !isDemanded()
            {
                let coding = unknownCoding.quoted(limit: 40)
                let message = "the content encoding \(coding) is not supported"
                throw ResourceFailure(TransferError(.malformedResponse, message))
            }
            if acceptsAnyContent { return ObjectAttributes() }
            throw ResourceFailure(
                code: error.code.rawValue, message: error.message,
                isTransient: mayBeCut() && error.code == .truncated)
        }
    }
}
