import Foundation
import Histogram

/// How long the main thread worked for each frame.
struct FrameTimes: Sendable, Equatable {
    /// A sixtieth of a second.
    static let interval = Duration.nanoseconds(16_666_667)
    /// Beyond it a frame is late, in seconds.
    private static let limit = 0.0167

    var count = 0
    /// Frames whose work took longer than 16.7 ms.
    var frozen = 0
    /// The longest work for one frame, in seconds.
    var longest = 0.0

    init() {}

    mutating func add(_ work: Duration) {
        let seconds = work / .seconds(1)
        count += 1
        if seconds > Self.limit { frozen += 1 }
        longest = max(longest, seconds)
    }
}

/// How long rows were visible before their images were.
struct WaitTimes {
    /// In microseconds, up to an hour, each to three digits.
    private var histogram = Histogram<UInt32>(highestTrackableValue: 3_600_000_000)

    init() {}

    mutating func add(_ wait: Duration) {
        let microseconds = wait / .microseconds(1)
        histogram.record(UInt64(min(max(0, microseconds), 3_600_000_000)))
    }

    var count: Int { Int(histogram.totalCount) }

    /// So many percent of the waits were no longer, in seconds; nil if there were none.
    func percentile(_ percent: Double) -> Double? {
        guard histogram.totalCount > 0 else { return nil }
        return Double(histogram.valueAtPercentile(percent)) / 1e6
    }
}

/// Memory over time, in a limited number of points: as time goes on, each stands for a longer span.
struct MemoryCurve: Sendable {
    static let mostPoints = 512

    /// A span of time: when it begins, and the highest values in it.
    struct Point: Sendable, Equatable {
        /// Seconds on the scroll's clock.
        let time: Double
        /// Bytes of images in caches and cells.
        var held: Int
        /// What the process had in memory, in bytes.
        var resident: Int64
    }

    private(set) var points: [Point] = []
    /// How many samples a point stands for, and how many the last one has.
    private var span = 1
    private var filled = 0

    init() {}

    /// - Parameter time: never before the last one's.
    mutating func add(time: Double, held: Int, resident: Int64) {
        if filled > 0, filled < span, !points.isEmpty {
            merge(Point(time: time, held: held, resident: resident), into: points.count - 1)
            filled += 1
            return
        }
        if points.count == Self.mostPoints { halve() }
        points.append(Point(time: time, held: held, resident: resident))
        filled = 1
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
        span *= 2
    }
}

/// A warning that memory is short, raised when the limit was reached.
struct MemoryWarning: Sendable, Equatable {
    /// Seconds on the scroll's clock.
    let time: Double
    /// Bytes of images that were held.
    let before: Int
    /// Bytes of images that were held when everybody had heard of it.
    let after: Int
}

/// What this process has in memory, its program and libraries included.
enum ResidentMemory {
    /// In bytes; 0 if the system does not tell.
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
            // proc_pid_statm(5): all pages, resident ones, …
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

/// What rows showed, each time that one with an icon became visible.
///
/// `shown` is always `memoryHits + diskHits + networkImages + failed + unseen` in the end.
struct RowCounts: Sendable, Equatable {
    /// How often a row with an icon became visible.
    var shown = 0
    /// Its image was in memory, and was there at once.
    var memoryHits = 0
    /// Its image came from the cache directory.
    var diskHits = 0
    /// Its image came from the network.
    var networkImages = 0
    /// There was no image to be had.
    var failed = 0
    /// It was gone, or all was over, before its image came.
    var unseen = 0
    /// It had another row's image at some time.
    var wrong = 0

    init() {}
}
