import LarderCache
import LarderCore
import LarderHTTP

/// A client for tasks that wait for a manifest or an icon. Prefetches use ``FetchQueue``.
struct HTTPClient: Sendable {
    let loop: TransferLoop
    let policy: RequestPolicy
    var mayBeRepeated = false

    struct Response: Sendable {
        let head: ResponseHead
        let target: RequestTarget
        let validators: Validators
        let variant: Digest?
        let delay: Duration
        let confirmation: Deposit.Content?
    }

    /// Makes one attempt, including redirects. Throws `ResourceFailure` or an error of the sink.
    func fetch(
        _ url: HTTPURL, about known: Resource? = nil,
        into makeSink: @escaping @Sendable () throws -> ByteSink
    ) async throws -> Response {
        var target = RequestTarget(url)
        while true {
            let start = ContinuousClock.now
            let asked = target.asked(about: known)
            let exchange = Exchange(on: loop) { [policy, target] head, _ in
                let verdict = policy.verdict(on: head, to: target, about: asked)
                return try verdict == nil && head.status != 304 ? makeSink() : nil
            }
            var request = policy.request(to: target, about: asked)
            request.mayBeRepeated = mayBeRepeated
            // With shared connections, requests to an unresponsive host would wait for each other.
            request.sharesConnection = false
            let head: ResponseHead
            do {
                head = try await exchange.response(to: request)
            } catch let error as TransferError {
                throw ResourceFailure(error)
            }
            let validators = Validators(head.headers.all)
            switch policy.verdict(on: head, to: target, about: asked) {
            case nil: break
            case .redirect(let location, let freshUntil, let cookies):
                try target.follow(
                    location, freshUntil: freshUntil, cookies: cookies,
                    allowsDowngrade: policy.allowsDowngrade)
                continue
            case .failed(let failure): throw failure
            case .restart, .held, .broken: throw ResourceFailure(status: head.status)
            }
            let received = exchange.receivedBytes
            if let failure = Resumption.failure(of: head, receivedBytes: received) { throw failure }
            let confirmed = head.status == 304 ? asked : nil
            return Response(
                head: head, target: target, validators: validators,
                variant: policy.variant(validators, at: target),
                delay: ContinuousClock.now - start,
                confirmation: try confirmed.map { try policy.confirmation(of: $0, by: validators) })
        }
    }
}
