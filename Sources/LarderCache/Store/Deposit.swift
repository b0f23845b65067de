import Foundation
import LarderCore

/// The result of a fetch. A class, because copies of its many fields are slow.
package final class Deposit: Sendable {
    /// The resource is updated only for `staged` and `unchanged`.
    package enum Content: Sendable {
        case staged(StagedObject)
        case unchanged(Digest)
        case kept(Digest)
        case unstored
        case failed(code: String, status: Int?)
    }

    package let context: (any Sendable)?
    package let key: String
    package let url: String
    package let responseURL: String?
    package let validators: Validators
    package let variant: Digest?
    package let redirectsFreshUntil: Date?
    package let receivedAt: Date
    /// The seconds from the request to the end of the response.
    package let delay: TimeInterval
    package let content: Content

    package init(
        context: (any Sendable)? = nil, key: String, url: String, responseURL: String? = nil,
        validators: Validators = Validators(), variant: Digest? = nil,
        redirectsFreshUntil: Date? = nil, receivedAt: Date, delay: TimeInterval = 0,
        content: Content
    ) {
        (self.context, self.key, self.url) = (context, key, url)
        self.responseURL = responseURL == url ? nil : responseURL
        (self.validators, self.variant, self.content) = (validators, variant, content)
        (self.receivedAt, self.delay) = (receivedAt, delay)
        self.redirectsFreshUntil = redirectsFreshUntil
    }

    var staged: StagedObject? { if case .staged(let object) = content { object } else { nil } }
}

package struct StagedObject: Sendable {
    package let digest: Digest
    package let size: Int64
    package let attributes: ObjectAttributes
    let file: String?
}

package protocol Depositor: AnyObject, Sendable {
    /// Receives a batch's outcomes, in order, on the store's report queue.
    func committed(_ outcomes: [Store.Outcome])
}
