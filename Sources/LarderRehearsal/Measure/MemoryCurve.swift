/// Memory over time, in a limited number of points: as time goes on, each stands for a longer span.
package struct MemoryCurve: Sendable {
    package static let mostPoints = 512

    /// A span of time: when it begins, and the highest values in it.
    package struct Point: Sendable, Codable, Equatable {
        /// Seconds on the scroll's clock.
        package let time: Double
        /// Bytes of images in caches and cells.
        package var held: Int
        /// What the process had in memory, in bytes.
        package var resident: Int64
    }

    package private(set) var points: [Point] = []
    /// How many samples a point stands for, and how many the last one has.
    private var span = 1
    private var filled = 0

    package init() {}

    /// - Parameter time: never before the last one's.
    package mutating func add(time: Double, held: Int, resident: Int64) {
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
