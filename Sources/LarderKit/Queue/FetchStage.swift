import Foundation
import LarderCache
import LarderTransfer
import Synchronization

/// What every operation of a run shares: how a request is made, which responses are wanted, and
/// what is done with a body that has arrived: digested, checked, staged.
final class FetchStage: Sendable {
    let loop: TransferLoop
    /// Where bodies are checked and staged, beside the transfer loop.
    let work = StagingLanes(primary: DispatchQueue(label: "larder.feeder"))
    private let store: Store
    private let plan: Plan
    private let headers: RequestHeaders
    let options: Options
    /// What was handed to the store and is not yet reported, by the fetch's id.
    private let deposited = Mutex<[Int64: Deposited]>([:])
    private let received = Atomic<Int64>(0)

    /// An object, since a table's free places are as large as what it holds.
    private final class Deposited: Sendable {
        let fetch: Fetch
        let result: FetchResult

        init(_ fetch: Fetch, _ result: FetchResult) { (self.fetch, self.result) = (fetch, result) }
    }

    /// What of the user's choices it goes by.
    struct Options: Sendable {
        var revalidation: Revalidation
        var maximumObjectBytes: Int64
        var acceptsAnyContent: Bool
        var storesUnstorable: Bool
        var remembersFailures: Bool
    }

    init(
        loop: TransferLoop, store: Store, plan: Plan, headers: RequestHeaders, options: Options
    ) {
        self.loop = loop
        self.store = store
        self.plan = plan
        self.headers = headers
        self.options = options
    }

    /// - Parameter partial: the beginning of the body, where there is one to go on with.
    func request(for fetch: Fetch, continuing partial: PartialBody?) -> TransferRequest {
        var fields = sentHeaders(for: fetch)
        fields += partial.map(Resumption.headers) ?? conditions(of: fetch)
        // End to end: caches on the way must ask, too, and may still answer 304, which no-cache would
        // keep many from (RFC 9111, section 5.2.1.1).
        if options.revalidation == .always { fields.append(("Cache-Control", "max-age=0")) }
        return TransferRequest(
            url: fetch.url, headers: fields, maximumBodyBytes: options.maximumObjectBytes,
            usesStoredCredentials: fetch.isAtOwnOrigin)
    }

    /// What makes the request for a fetch conditional; none where every answer is news.
    private func conditions(of fetch: Fetch) -> [(name: String, value: String)] {
        guard let known = fetch.askedAbout else { return [] }
        // What anything at all selects matches no request (RFC 9111, section 4.1).
        let isAny = known.validators.vary.map { Vary($0).isAny } ?? false
        return known.validators.conditions(
            sameVariant: !isAny && variant(known.validators, fetch) == known.variant)
    }

    /// Which variant of a response with these fields the request for a fetch selects.
    private func variant(_ validators: Validators, _ fetch: Fetch) -> Digest? {
        validators.vary.flatMap {
            Vary($0).variant(
                for: headers.selecting(
                    for: fetch.url, isRedirected: !fetch.isAtOwnOrigin,
                    hasCredentials: fetch.url.credentials != nil))
        }
    }

    private func sentHeaders(for fetch: Fetch) -> [(name: String, value: String)] {
        headers.sent(to: fetch.url, isRedirected: !fetch.isAtOwnOrigin)
    }

    /// The beginning of a fetch's body that an interrupted transfer left.
    func takePartial(of fetch: Fetch) -> PartialBody? { store.takePartial(of: fetch.url.string) }

    /// Where a response's body goes, after a partial one's bytes if it is the rest of that.
    func newBody(
        for transfer: TransferID, head: ResponseHead, continuing partial: PartialBody?
    ) throws(CacheError) -> StagedBody {
        guard let partial else {
            let expected = head.headers[first: "Content-Length"].flatMap { Int($0) }
            return store.newBody(expecting: expected) { [loop] in loop.resume(transfer) }
        }
        return try store.newBody(continuing: partial) { [loop] in loop.resume(transfer) }
    }

    /// Keeps what came of an interrupted body where its rest can be asked for.
    ///
    /// - Parameter resumed: what the response said whose body this one goes on with.
    func keep(
        _ body: StagedBody, of fetch: Fetch, head: ResponseHead, resumed: Validators?
    ) {
        let fields = validators(of: head, resumed: resumed)
        guard body.count > StagedBody.memoryLimit,
            let validator = Resumption.validator(of: head, fields),
            options.storesUnstorable || !CacheControl(fields.cacheControl).isNoStore
        else { return }
        store.keep(
            body, of: fetch.url.string, validator: validator, fields: fields,
            totalBytes: Resumption.totalBytes(head))
    }

    private func validators(of head: ResponseHead, resumed: Validators?) -> Validators {
        let fields = Validators(head.headers.all)
        return resumed.map(fields.completed) ?? fields
    }

    /// What is wrong with the length of a body whose last part has come; nil where nothing is.
    func lengthFailure(of body: StagedBody, _ head: ResponseHead) -> FetchFailure? {
        guard head.status == 206, let total = Resumption.totalBytes(head), body.count != total
        else {
            return nil
        }
        let message = "\(body.count) of \(total) bytes came"
        return body.count < total
            ? FetchFailure(TransferError(code: .bodyTruncated, message: message))
            : FetchFailure(.range, message)
    }

    /// What a response's head already decides; nil where its body is wanted.
    func verdict(
        on head: ResponseHead, for fetch: Fetch, continuing partial: PartialBody?
    ) -> FetchOperation.Outcome? {
        switch head.status {
        case 200, 203:
            return nil
        case 304 where partial == nil && !conditions(of: fetch).isEmpty:
            return nil
        case 206, 416:
            guard let partial else { return .failed(FetchFailure(status: head.status)) }
            guard Resumption.isRest(of: partial, head) else {
                return .failed(
                    FetchFailure(
                        .range, "the server did not send the rest of the body that was asked for"))
            }
            guard Resumption.totalBytes(head) ?? 0 <= options.maximumObjectBytes else {
                return .failed(
                    FetchFailure(
                        TransferError(
                            code: .tooLarge,
                            message:
                                "the body is longer than the \(options.maximumObjectBytes) bytes allowed"
                        )))
            }
            return nil
        case let status where Redirect.statuses.contains(status):
            guard let location = head.headers[first: "Location"] else {
                return .failed(FetchFailure(.badRedirect, "redirected without a Location"))
            }
            return .redirect(location, freshUntil: Freshness.expiry(ofRedirect: head))
        default:
            return .failed(FetchFailure(status: head.status))
        }
    }

    /// Takes a whole body: digest, check, stage, and hand over to the store.
    ///
    /// - Parameters:
    ///   - resumed: what the response said whose body this one goes on with.
    ///   - done: called once, when the store has room for another.
    func deposit(
        _ fetch: Fetch, head: ResponseHead, body: StagedBody?, resumed: Validators?,
        metrics: TransferMetrics,
        done: @escaping @Sendable (FetchOperation.Outcome) -> Void
    ) {
        do {
            var validators = validators(of: head, resumed: resumed)
            let mayStore =
                options.storesUnstorable || !CacheControl(validators.cacheControl).isNoStore
            let (content, success) = try settle(
                fetch, validators, body: body, mayStore: mayStore)
            let result = FetchResult(
                id: fetch.planned.id, result: .success(success), waiting: .init(for: fetch.planned),
                attempts: fetch.attempt, seconds: fetch.elapsed)
            note(result, of: fetch)
            if success.isRevalidation, let known = fetch.askedAbout {
                validators = validators.completed(from: known.validators)
            }
            store.add(
                Deposit(
                    token: fetch.planned.id, key: fetch.planned.key, url: fetch.planned.url,
                    responseURL: fetch.url.string, validators: validators,
                    variant: variant(validators, fetch),
                    redirectsFreshUntil: fetch.redirectsFreshUntil, receivedAt: Date(),
                    delay: metrics.total / .seconds(1), content: content)
            ) { done(.deposited) }
        } catch let failure as FetchFailure {
            done(.failed(failure))
        } catch let fault as ImageFault {
            // Without a length or chunks, in HTTP/1, a lost connection looks like the end.
            let isFramed =
                head.headers[first: "Content-Length"] != nil
                || head.headers[first: "Transfer-Encoding"] != nil
                || !head.protocolVersion.utf8.starts(with: "1.".utf8)
            done(.failed(FetchFailure(fault, mayBeCut: !isFramed)))
        } catch let error as CacheError {
            done(.broken(error))
        } catch {
            done(
                .broken(
                    CacheError(.unusable, subject: "\(fetch.url)".maskingQuery, message: "\(error)")
                ))
        }
    }

    /// Has a failure remembered, and reported in turn with what is stored.
    func remember(_ failure: FetchFailure, of fetch: Fetch, _ result: FetchResult) {
        note(result, of: fetch)
        store.add(
            Deposit(
                token: fetch.planned.id, key: fetch.planned.key, url: fetch.planned.url,
                receivedAt: Date(), content: .failed(code: failure.code, status: failure.status))
        ) {}
    }

    private func note(_ result: FetchResult, of fetch: Fetch) {
        // Made outside: nothing waits for the lock while memory is found.
        let entry = Deposited(fetch, result)
        deposited.withLock { $0[fetch.planned.id] = entry }
    }

    /// What is known of a fetch whose batch was committed.
    func takeDeposited(_ id: Int64) -> (Fetch, FetchResult)? {
        deposited.withLock { $0.removeValue(forKey: id) }.map { ($0.fetch, $0.result) }
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
        _ fetch: Fetch, _ validators: Validators, body: StagedBody?, mayStore: Bool
    ) throws -> (Deposit.Content, FetchResult.Success) {
        guard let body else {
            guard let known = fetch.askedAbout else { throw FetchFailure(status: 304) }
            guard validators.vouch(for: known.validators) else {
                throw FetchFailure(
                    .validator,
                    "the server says that another version than the cached has not changed")
            }
            let object = known.object
            let success = FetchResult.Success(
                digest: object.digest, size: object.size, attributes: object.attributes,
                isRevalidation: true, isStored: true)
            // Where it forbids to store, it vouches for the bytes, and of itself nothing is kept.
            return (mayStore ? .unchanged(object.digest) : .kept(object.digest), success)
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
        let success = FetchResult.Success(
            digest: digest, size: body.count, attributes: attributes, isRevalidation: false,
            isStored: mayStore)
        guard mayStore else { return (.unstored, success) }
        let staged = try store.stage(body, digest: digest, attributes: attributes)
        return (.staged(staged), success)
    }

    private func inspect(_ body: StagedBody) throws -> ObjectAttributes {
        do {
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            return ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch is ImageFault where options.acceptsAnyContent {
            return ObjectAttributes()
        }
    }
}
