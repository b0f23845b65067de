import Foundation
import LarderCore

/// The result of one fetch, to be recorded with the next batch. A class, since it is large to copy.
package final class Deposit: Sendable {
    package enum Content: Sendable {
        /// Bytes that were staged by ``Store/stage(_:digest:attributes:)``.
        case staged(StagedObject)
        /// The object it had before: its origin answered 304.
        case unchanged(Digest)
        /// The object it had before, and nothing new: its origin answered 304, and that this may
        /// not be stored. The resource stays as it was.
        case kept(Digest)
        /// What is not to be stored: the resource stays as it was, and did not fail.
        case unstored
        /// The fetch failed, which is remembered. The resource stays as it was.
        case failed(code: String, status: Int?)
    }

    /// What the caller knows of it, handed back with the outcome.
    package let context: (any Sendable)?
    /// What the resource will be looked up by: a ``ResourceKey``.
    package let key: String
    package let url: String
    /// Where redirects led, if that is another URL: whose validators they are.
    package let responseURL: String?
    package let validators: Validators
    /// Tells the variant from others that the same URL may select; nil if none does.
    package let variant: Digest?
    /// Until when the redirects may be used without asking again; nil if there were none.
    package let redirectsFreshUntil: Date?
    package let receivedAt: Date
    /// Seconds from the request to the response's end.
    package let delay: TimeInterval
    package let content: Content

    package init(
        context: (any Sendable)? = nil, key: String, url: String, responseURL: String? = nil,
        validators: Validators = Validators(), variant: Digest? = nil,
        redirectsFreshUntil: Date? = nil, receivedAt: Date,
        delay: TimeInterval = 0, content: Content
    ) {
        self.context = context
        self.key = key
        self.url = url
        self.responseURL = responseURL == url ? nil : responseURL
        self.validators = validators
        self.variant = variant
        self.redirectsFreshUntil = redirectsFreshUntil
        self.receivedAt = receivedAt
        self.delay = delay
        self.content = content
    }
}

/// Bytes in the run's directory or already in the cache, for the deposits of one batch.
package struct StagedObject: Sendable {
    package let digest: Digest
    package let size: Int64
    package let attributes: ObjectAttributes
    /// The staged file; nil if the index vouches for an object with this digest.
    let file: String?
}

package protocol Depositor: AnyObject, Sendable {
    /// Receives the outcomes of its own deposits of a batch, in order, on the store's queue.
    func committed(_ outcomes: [Store.Outcome])
}
