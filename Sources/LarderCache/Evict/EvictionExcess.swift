/// How far a cache is beyond its limits while its objects go one by one.
struct EvictionExcess {
    private let policy: EvictionPolicy
    private(set) var left: EvictionReport.Tally
    private var free: Int64

    /// - Parameters:
    ///   - left: all objects there are.
    ///   - free: bytes that are free on the disk.
    init(_ policy: EvictionPolicy, left: EvictionReport.Tally, free: Int64) {
        self.policy = policy
        self.left = left
        self.free = free
    }

    /// The limits that are not kept, in the order in which they are named.
    var missed: [EvictionReport.Reason] {
        var missed: [EvictionReport.Reason] = []
        if let limit = policy.maximumBytes, left.bytes > limit { missed.append(.size) }
        if let limit = policy.maximumObjects, left.count > limit { missed.append(.count) }
        if let limit = policy.minimumFree, free < limit { missed.append(.free) }
        return missed
    }

    /// The first of them; nil if all are kept.
    var reason: EvictionReport.Reason? {
        if let limit = policy.maximumBytes, left.bytes > limit { return .size }
        if let limit = policy.maximumObjects, left.count > limit { return .count }
        if let limit = policy.minimumFree, free < limit { return .free }
        return nil
    }

    var isAny: Bool { reason != nil }

    /// Takes an object away, and its file.
    mutating func take(_ size: Int64, freeing room: Int64) {
        left.count -= 1
        left.bytes -= size
        free += room
    }
}
