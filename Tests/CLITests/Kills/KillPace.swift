import LarderTestSupport

/// How long the parts of a run take, in seconds: what the moments of kills are drawn from.
struct KillPace {
    /// Until the first request.
    private var start: Double
    /// For each request.
    private var request: Double
    /// From the last request to the end, with the last commit.
    private(set) var end: Double

    /// Measures a run by what its origin saw; nil where that is too little.
    init?(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant, of origin: Origin) {
        let arrivals = origin.requests.map(\.arrival)
        guard arrivals.count > 1, let first = arrivals.min(), let last = arrivals.max() else {
            return nil
        }
        self.start = (first - start) / .seconds(1)
        request = (last - first) / .seconds(Double(arrivals.count))
        self.end = (end - last) / .seconds(1)
    }

    func seconds(requests: Int) -> Double { start + Double(requests) * request + end }

    /// Follows the machine's load: others use it, too.
    mutating func follow(_ latest: KillPace) {
        start = (start + latest.start) / 2
        request = (request + latest.request) / 2
        end = (end + latest.end) / 2
    }
}
