/// How often a request is tried, and how long it waits in between.
package struct S3Attempts: Sendable {
    /// Requests at most, the first one included. Default: 5.
    package var limit: Int
    /// Before the second one; doubled each time, less a random part of up to a half. Default:
    /// 0.2 s.
    package var delay: Duration
    /// No wait is longer. Default: 5 s.
    package var longestDelay: Duration

    /// The defaults, which are about those of Amazon's own libraries.
    package init(
        limit: Int = 5, delay: Duration = .milliseconds(200), longestDelay: Duration = .seconds(5)
    ) {
        self.limit = limit
        self.delay = delay
        self.longestDelay = longestDelay
    }

    /// After so many attempts; nil if there is no other.
    func delay(after attempts: Int) -> Duration? {
        guard attempts < limit else { return nil }
        let most = min(delay * (1 << min(attempts - 1, 16)), longestDelay)
        return most * Double.random(in: 0.5...1)
    }
}
