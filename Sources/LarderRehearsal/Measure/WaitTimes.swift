import Histogram

/// How long rows were visible before their images were.
package struct WaitTimes {
    /// In microseconds, up to an hour, each to three digits.
    private var histogram = Histogram<UInt32>(highestTrackableValue: 3_600_000_000)

    package init() {}

    package mutating func add(_ wait: Duration) {
        let microseconds = wait / .microseconds(1)
        histogram.record(UInt64(min(max(0, microseconds), 3_600_000_000)))
    }

    package var count: Int { Int(histogram.totalCount) }

    /// So many percent of the waits were no longer, in seconds; nil if there were none.
    package func percentile(_ percent: Double) -> Double? {
        guard histogram.totalCount > 0 else { return nil }
        return Double(histogram.valueAtPercentile(percent)) / 1e6
    }
}
