import Foundation
import LarderCache
import LarderTransfer
import Synchronization

/// What every operation of a run shares: how a request is made, which responses are wanted, and
/// what is done with a body that has arrived: digested, checked, staged.
final class FetchStage: Sendable {
    let loop: TransferLoop
    /// Where bodies are checked and staged, beside the transfer loop.
    let work = DispatchQueue(label: "larder.stage", attributes: .concurrent)
    private let store: Store
    private let plan: Plan
    private let maximumObjectBytes: Int64
    private let acceptsAnyContent: Bool
    /// What was handed to the store and is not yet reported, by the fetch's id.
    private let deposited = Mutex<[Int64: (Fetch, FetchResult)]>([:])
    private let received = Atomic<Int64>(0)

    init(
        loop: TransferLoop, store: Store, plan: Plan, maximumObjectBytes: Int64,
        acceptsAnyContent: Bool
    ) {
        self.loop = loop
        self.store = store
        self.plan = plan
        self.maximumObjectBytes = maximumObjectBytes
        self.acceptsAnyContent = acceptsAnyContent
    }

    func request(for fetch: Fetch) -> TransferRequest {
        var headers = [("Accept", "image/*,*/*;q=0.8")]
        // RFC 9111, section 4.3.1: send every validator there is.
        if let etag = fetch.known?.validators.etag { headers.append(("If-None-Match", etag)) }
        if let date = fetch.known?.validators.lastModified {
            headers.append(("If-Modified-Since", date))
        }
        return TransferRequest(
            url: fetch.url, headers: headers, maximumBodyBytes: maximumObjectBytes)
    }

    func newBody(for transfer: TransferID) -> StagedBody {
        store.newBody { [loop] in loop.resume(transfer) }
    }

    /// What a response's head already decides; nil where its body is wanted.
    func verdict(on head: ResponseHead, for fetch: Fetch) -> FetchOperation.Outcome? {
        switch head.status {
        case 200, 203:
            return nil
        case 304 where fetch.known != nil:
            return nil
        case 301, 302, 303, 307, 308:
            guard let location = head.headers[first: "Location"] else {
                return .failed(FetchFailure(.badRedirect, "redirected without a Location"))
            }
            return .redirect(location)
        default:
            return .failed(FetchFailure(status: head.status))
        }
    }

    /// Takes a whole body: digest, check, stage, and hand over to the store.
    ///
    /// - Parameter done: called once, when the store has room for another.
    func deposit(
        _ fetch: Fetch, head: ResponseHead, body: StagedBody?, metrics: TransferMetrics,
        done: @escaping @Sendable (FetchOperation.Outcome) -> Void
    ) {
        do {
            let (content, success, expectations) = try settle(fetch, body: body)
            let result = FetchResult(
                id: fetch.planned.id, result: .success(success), expectations: expectations,
                attempts: fetch.attempt, seconds: fetch.elapsed)
            deposited.withLock { $0[fetch.planned.id] = (fetch, result) }
            var validators = Validators(head.headers)
            if success.isRevalidation, let known = fetch.known {
                validators = validators.completed(from: known.validators)
            }
            store.add(
                Deposit(
                    token: fetch.planned.id, key: fetch.planned.key, url: fetch.planned.url,
                    validators: validators, receivedAt: Date(), content: content)
            ) { done(.deposited) }
        } catch let failure as FetchFailure {
            done(.failed(failure))
        } catch let fault as ImageFault {
            done(.failed(FetchFailure(fault)))
        } catch let error as CacheError {
            done(.broken(error))
        } catch {
            done(
                .broken(CacheError(.unusable, subject: fetch.url.description, message: "\(error)")))
        }
    }

    /// What is known of a fetch whose batch was committed.
    func takeDeposited(_ id: Int64) -> (Fetch, FetchResult)? {
        deposited.withLock { $0.removeValue(forKey: id) }
    }

    /// Commits and reports what was deposited; returns when it is done.
    func flush() { store.flush() }

    /// Runs `body` in turn with the reports of committed batches.
    func afterCommits(_ body: @escaping @Sendable () -> Void) { store.afterCommits(body) }

    /// Body bytes received so far, those of unfinished transfers included.
    var receivedBytes: Int64 { received.load(ordering: .relaxed) }

    func count(received bytes: Int) {
        received.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    private func settle(
        _ fetch: Fetch, body: StagedBody?
    ) throws -> (Deposit.Content, FetchResult.Success, [Expectation]) {
        guard let body else {
            guard let object = fetch.known?.object else { throw FetchFailure(status: 304) }
            let success = FetchResult.Success(
                digest: object.digest, size: object.size, attributes: object.attributes,
                isRevalidation: true)
            return (.unchanged(object.digest), success, [])
        }
        let digest = try body.finish()
        let expectations =
            fetch.planned.hasExpectation
            ? try plan.expectations(of: fetch.planned.id) : []
        // Refused are bytes that no entry would accept.
        let refusals = expectations.map { $0.refusal(digest: digest, size: body.count) }
        if let refusal = refusals.first ?? nil, !refusals.contains(where: { $0 == nil }) {
            throw refusal
        }
        let attributes = try inspect(body)
        let staged = try store.stage(body, digest: digest, attributes: attributes)
        let success = FetchResult.Success(
            digest: digest, size: body.count, attributes: attributes, isRevalidation: false)
        return (.staged(staged), success, expectations)
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
}

extension Validators {
    /// The fields of a response that freshness and revalidation rest on.
    init(_ headers: HeaderFields) {
        self.init()
        etag = headers[first: "ETag"]
        lastModified = headers[first: "Last-Modified"]
        date = headers[first: "Date"]
        age = headers[first: "Age"].flatMap(TimeInterval.init)
        let directives = headers.all("Cache-Control")
        cacheControl = directives.isEmpty ? nil : directives.joined(separator: ", ")
        expires = headers[first: "Expires"]
    }
}
