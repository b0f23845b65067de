/// The progress of an operation on objects.
public struct ObjectProgress: Sendable, Equatable {
    /// The number of completed objects.
    public var objects = 0
    /// The total number of objects; nil if unknown.
    public var total: Int?
    /// The size of completed objects in bytes.
    public var bytes: Int64 = 0
    /// The elapsed time in seconds.
    public var seconds: Double = 0
    /// The number of findings in completed directories.
    public var findings = 0

    /// Creates a progress value whose counts are zero.
    public init() {}

    /// The average number of bytes per second.
    public var bytesPerSecond: Double { seconds > 0 ? Double(bytes) / seconds : 0 }
    /// The average number of objects per second.
    public var objectsPerSecond: Double { seconds > 0 ? Double(objects) / seconds : 0 }

    /// The estimated remaining time in seconds; nil if unknown.
    public var secondsLeft: Double? {
        guard let total, objects > 0 else { return nil }
        return seconds / Double(objects) * Double(max(0, total - objects))
    }
}

/// The number and size of objects or files.
public struct ObjectTally: Sendable, Equatable {
    /// The number of objects or files.
    public internal(set) var count = 0
    /// The size of the objects in bytes. For other files, the disk space that their removal frees.
    public internal(set) var bytes: Int64 = 0

    package init() {}

    mutating func add(_ bytes: Int64) {
        count += 1
        self.bytes += bytes
    }

    static func += (sum: inout ObjectTally, other: ObjectTally) {
        sum.count += other.count
        sum.bytes += other.bytes
    }
}
