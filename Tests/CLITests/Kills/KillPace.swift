import LarderTestSupport

/// The durations of the parts of a run, in seconds. Random kills are based on them.
struct KillPace {
    /// The time before the first request.
    private var start: Double
    /// The time for each request.
    private var request: Double
    /// The time after the last request, including the last commit.
    private(set) var end: Double

    /// Measures a run by the requests at its origin. Returns nil if there are too few.
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

    /// Adjusts to the machine's load.
    mutating func follow(_ latest: KillPace) {
        start = (start + latest.start) / 2
        request = (request + latest.request) / 2
        end = (end + latest.end) / 2
    }
}
