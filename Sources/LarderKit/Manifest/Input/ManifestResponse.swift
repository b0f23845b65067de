import Foundation
import LarderCache
import LarderTransfer

/// What a server said of a manifest, beside its bytes.
struct ManifestResponse {
    /// What was asked for first.
    let url: HTTPURL
    /// Where redirects led.
    let target: RequestTarget
    let validators: Validators
    /// Which variant the request has selected.
    let variant: Digest?
    /// From the request to the end.
    let delay: Duration

    /// - Parameter known: whose fields it completes, if it said that nothing has changed.
    func deposit(_ content: Deposit.Content, on known: Resource? = nil) -> Deposit {
        Deposit(
            token: 0, key: url.key, url: url.string, responseURL: target.url.string,
            validators: known.map { validators.completed(from: $0.validators) } ?? validators,
            variant: variant, redirectsFreshUntil: target.redirectsFreshUntil, receivedAt: Date(),
            delay: delay / .seconds(1), content: content)
    }
}
