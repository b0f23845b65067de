import Foundation

/// What the head of a response decides.
enum ResponseVerdict: Sendable {
    /// Its body is wanted.
    case body
    /// What the cache has is still what the origin has.
    case notModified
    /// Another request follows.
    case redirect(String, freshUntil: Date)
    case failed(FetchFailure)
}
