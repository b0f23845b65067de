import Foundation
import Histogram

/// The main thread's work for each frame.
struct FrameTimes: Sendable, Equatable {
    static let interval = Duration.nanoseconds(16_666_667)
    /// The work above which a frame is late, in seconds.
    private static let limit = 0.0167

    var count = 0
    /// The number of frames with more than 16.7 ms of work.
    var frozen = 0
    /// In seconds.
    var longest = 0.0

    mutating func add(_ work: Duration) {
        let seconds = work / .seconds(1)
        count += 1
        if seconds > Self.limit { frozen += 1 }
        longest = max(longest, seconds)
    }
}

/// The times from the appearance of a row to its image.
struct WaitTimes {
    /// Microseconds up to an hour, with three significant digits.
    private var histogram = Histogram<UInt32>(highestTrackableValue: 3_600_000_000)

    mutating func add(_ wait: Duration) {
        let microseconds = wait / .microseconds(1)
        histogram.record(UInt64(min(max(0, microseconds), 3_600_000_000)))
    }

    var count: Int { Int(histogram.totalCount) }

    /// Returns a percentile in seconds, or nil without waits.
    func percentile(_ percent: Double) -> Double? {
        guard histogram.totalCount > 0 else { return nil }
        return Double(histogram.valueAtPercentile(percent)) / 1e6
    }
}

/// Memory over time in a limited number of points, each of which covers a growing span.
struct MemoryCurve: Sendable {
    static let maximumPoints = 512

    /// The beginning of a span and its maximum values.
    struct Point: Sendable, Equatable {
        /// Seconds on the scroll's clock.
        let time: Double
        /// The size of images in caches and cells, in bytes.
        var held: Int
        /// In bytes.
        var resident: Int64
    }

    private(set) var points: [Point] = []
    private var samplesPerPoint = 1
    private var samplesInLastPoint = 0

    /// - Parameter time: Must not decrease.
    mutating func add(time: Double, held: Int, resident: Int64) {
        if samplesInLastPoint > 0, samplesInLastPoint < samplesPerPoint, !points.isEmpty {
            merge(Point(time: time, held: held, resident: resident), into: points.count - 1)
            samplesInLastPoint += 1
            return
        }
        if points.count == Self.maximumPoints { halve() }
        points.append(Point(time: time, held: held, resident: resident))
        samplesInLastPoint = 1
    }

    private mutating func merge(_ point: Point, into index: Int) {
        points[index].held = max(points[index].held, point.held)
        points[index].resident = max(points[index].resident, point.resident)
    }

    private mutating func halve() {
        for index in 0..<points.count / 2 {
            points[index] = points[2 * index]
            merge(points[2 * index + 1], into: index)
        }
        points.removeLast(points.count - points.count / 2)
        samplesPerPoint *= 2
    }
}

struct MemoryWarning: Sendable, Equatable {
    /// Seconds on the scroll's clock.
    let time: Double
    /// The size of images before the warning, in bytes.
    let before: Int
    /// The size of images after the warning was handled, in bytes.
    let after: Int
}

/// The resident memory of this process, including its code.
enum ResidentMemory {
    /// In bytes, or 0 if unknown.
    static var now: Int64 {
        #if canImport(Darwin)
            var info = mach_task_basic_info()
            var count = mach_msg_type_number_t(
                MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
            let result = withUnsafeMutablePointer(to: &info) {
                $0.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                    task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
                }
            }
            return result == KERN_SUCCESS ? Int64(info.resident_size) : 0
        #else
            // proc_pid_statm(5): the second field is the number of resident pages.
            let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return 0 }
            defer { close(descriptor) }
            let text = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
            }
            let pages = text.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
            return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
        #endif
    }
}

/// Counts of appearances of rows with an icon, by result.
///
/// At the end, `shown` is `memoryHits + diskHits + networkImages + failed + unseen`.
struct RowCounts: Sendable, Equatable {
    var shown = 0
    /// Images that were shown immediately.
    var memoryHits = 0
    var diskHits = 0
    var networkImages = 0
    var failed = 0
    /// Rows that left before their images arrived.
    var unseen = 0
    /// Rows that showed another row's image.
    var wrong = 0
}
