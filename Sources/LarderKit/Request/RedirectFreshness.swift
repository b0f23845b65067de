import Foundation
import LarderCache
import LarderTransfer

extension Freshness {
    /// Until when a redirect may be used without asking again. One that may change at any time
    /// (302, 303, 307) is used again only if it says for how long (RFC 9110, section 15.1).
    static func expiry(ofRedirect head: ResponseHead, receivedAt: Date = Date()) -> Date {
        let validators = Validators(head.headers.all)
        let isPermanent = [301, 308].contains(head.status)
        let isExplicit =
            CacheControl(validators.cacheControl).maxAge != nil || validators.expires != nil
        return isPermanent || isExplicit
            ? expiry(of: validators, receivedAt: receivedAt) : receivedAt
    }
}
