/// What went over a link.
package struct LinkCounts: Sendable, Equatable, Codable {
    /// Fetches that were begun.
    package var requests = 0
    /// Those that came to their bytes.
    package var downloads = 0
    /// Of these, those of a URL that had been downloaded before.
    package var repeatedDownloads = 0
    /// Fetches that failed.
    package var failures = 0
    /// Fetches that were cancelled before their last byte.
    package var cancelled = 0
    /// Bytes of bodies that came, those of cancelled fetches included, and of failed ones not.
    package var bytes: Int64 = 0
    /// Bytes that came of fetches that were then cancelled.
    package var wastedBytes: Int64 = 0

    /// Why the first one failed.
    package var firstFailure: Failure?

    package struct Failure: Sendable, Equatable, Codable {
        /// As `larder prefetch` has it, such as `http-404`.
        package let code: String
        /// URL and reason; safe to print.
        package let message: String
    }

    package init() {}

    /// Fetches that have not ended.
    var underWay: Int { requests - downloads - failures - cancelled }
}
