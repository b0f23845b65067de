import Foundation
import LarderCache
import LarderCore
import LarderHTTP

struct RequestPolicy: Sendable {
    let headers: RequestHeaders
    let maximumBodyBytes: Int64
    var storesUnstorable = false
    let allowsDowngrade: Bool
    var asksOrigin = false
    /// Whether received bytes replace an existing object, which may be damaged.
    var replacesObjects = false

    func request(
        to target: RequestTarget, about known: Resource?, continuing partial: PartialBody? = nil
    ) -> TransferRequest {
        var fields = headers.sent(to: target.url, isRedirected: !target.isAtOwnOrigin)
        let conditions =
            partial.map { Resumption.headers(for: $0.trailer) } ?? conditions(on: known, at: target)
        if !conditions.isEmpty { fields += conditions }
        // With max-age=0, unlike no-cache, an intermediate cache may answer 304 after a
        // revalidation (RFC 9111, section 5.2.1.1).
        if asksOrigin { fields.append(("Cache-Control", "max-age=0")) }
        var request = TransferRequest(
            url: target.url, headers: fields, maximumBodyBytes: maximumBodyBytes,
            usesStoredCredentials: target.isAtOwnOrigin)
        request.cookies = target.cookies
        return request
    }

    private func conditions(on known: Resource?, at target: RequestTarget) -> FieldList {
        guard let known else { return [] }
        // `Vary: *` matches no request (RFC 9111, section 4.1).
        let isAny = known.validators.vary.map { Vary($0).isAny } ?? false
        return known.validators.conditions(
            sameVariant: !isAny && variant(known.validators, at: target) == known.variant)
    }

    func variant(_ validators: Validators, at target: RequestTarget) -> Digest? {
        validators.vary.flatMap {
            Vary($0).variant(
                for: headers.selecting(
                    for: target.url, isRedirected: !target.isAtOwnOrigin,
                    hasCredentials: target.url.credentials != nil))
        }
    }

    /// Returns nil if the response has the body, or confirms the known resource (status 304).
    func verdict(
        on head: ResponseHead, to target: RequestTarget, about known: Resource?,
        continuing partial: PartialBody? = nil
    ) -> RequestOutcome? {
        switch head.status {
        case 200, 203:
            let isSlice = partial.map { Resumption.isSlice(head, insteadOf: $0.trailer) } ?? false
            return isSlice ? .restart : nil
        case 304
        where partial == nil
            && (known?.validators.sendableETag != nil
                || !conditions(on: known, at: target).isEmpty):
            return nil
        case 206, 416:
            guard let partial else {
                let isWhole = head.status == 206 && ByteRange(head.headers)?.isWhole ?? false
                return isWhole ? nil : .failed(ResourceFailure(status: head.status))
            }
            guard Resumption.isRest(of: partial.trailer, head) else { return .restart }
            guard Resumption.totalBytes(head) ?? 0 <= maximumBodyBytes else {
                return .failed(ResourceFailure(.bodyTooLong(limit: maximumBodyBytes)))
            }
            return nil
        // RFC 9110, section 15.4.
        case 301, 302, 303, 307, 308:
            guard let location = head.headers.url("Location") else {
                return .failed(ResourceFailure(.badRedirect, "redirected without a Location field"))
            }
            return .redirect(
                location, freshUntil: Freshness.expiry(ofRedirect: head), cookies: head.cookies)
        default:
            // Some servers refuse ranges, or a condition with a range.
            let isExpected = RetryPolicy.retriedStatuses.union([404, 410]).contains(head.status)
            if partial != nil, !isExpected { return .restart }
            return .failed(
                ResourceFailure(status: head.status, retryAfter: RetryAfter.delay(of: head)))
        }
    }

    func mayStore(_ validators: Validators) -> Bool {
        storesUnstorable || !CacheControl(validators.cacheControl).isNoStore
    }

    func confirmation(of known: Resource, by validators: Validators) throws -> Deposit.Content {
        guard validators.vouch(for: known.validators) else {
            throw ResourceFailure(.validator, "the server confirmed a version that is not cached")
        }
        // A `no-store` 304 confirms the bytes, but is not stored.
        let digest = known.object.digest
        return mayStore(validators) ? .unchanged(digest) : .kept(digest)
    }
}

enum RequestOutcome: Sendable {
    case redirect(String, freshUntil: Date, cookies: [String])
    case failed(ResourceFailure)
    /// The response does not continue the partial body, so the whole body must be fetched.
    case restart
    /// No request was sent, because the origin requested a delay, the run is ending, or the retry
    /// would start too late.
    case held
    case broken(CacheError)
}
