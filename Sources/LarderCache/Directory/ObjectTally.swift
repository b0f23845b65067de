/// The number and size of objects or files.
public struct ObjectTally: Sendable, Equatable {
    /// The number of objects or files.
    public internal(set) var count = 0
    /// The size of objects, or the disk space that removing other files frees, in bytes.
    public internal(set) var bytes: Int64 = 0

    /// Creates an empty tally.
    public init() {}

    mutating func add(_ bytes: Int64) {
        count += 1
        self.bytes += bytes
    }

    static func += (sum: inout ObjectTally, other: ObjectTally) {
        sum.count += other.count
        sum.bytes += other.bytes
    }

    static func -= (sum: inout ObjectTally, other: ObjectTally) {
        sum.count -= other.count
        sum.bytes -= other.bytes
    }
}
