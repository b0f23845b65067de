import Foundation
import LarderCache
import LarderTransfer

/// What a server said of a manifest, beside its bytes.
struct ManifestResponse {
    /// What was asked for first.
    let url: HTTPURL
    /// Where redirects led.
    let target: HTTPURL
    let validators: Validators
    /// Which variant the request has selected.
    let variant: Digest?
    let redirectsFreshUntil: Date?
    /// From the request to the end.
    let delay: Duration

    /// Whether it forbids to store what it came with.
    var isNoStore: Bool { CacheControl(validators.cacheControl).isNoStore }

    /// - Parameter known: whose fields it completes, where it said that nothing has changed.
    func deposit(_ content: Deposit.Content, on known: Resource? = nil) -> Deposit {
        Deposit(
            token: 0, key: url.string, url: url.string, responseURL: target.string,
            validators: known.map { validators.completed(from: $0.validators) } ?? validators,
            variant: variant, redirectsFreshUntil: redirectsFreshUntil, receivedAt: Date(),
            delay: delay / .seconds(1), content: content)
    }
}
