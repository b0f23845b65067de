/// How far a cache is beyond its limits while its objects go one by one.
struct EvictionExcess {
    private let policy: EvictionPolicy
    private(set) var left: ObjectTally
    private var free: Int64

    /// - Parameters:
    ///   - left: all objects there are.
    ///   - free: bytes that are free on the disk.
    init(_ policy: EvictionPolicy, left: ObjectTally, free: Int64) {
        self.policy = policy
        self.left = left
        self.free = free
    }

    /// The limits that are not kept, in the order in which they are named.
    var missed: [EvictionReport.Reason] { Self.limits.filter(isMissed) }

    /// The first of them; nil if all are kept. Asked for every object, so it makes no list.
    var reason: EvictionReport.Reason? { Self.limits.first(where: isMissed) }

    private static let limits: [EvictionReport.Reason] = [.size, .count, .free]

    private func isMissed(_ reason: EvictionReport.Reason) -> Bool {
        switch reason {
        case .size: policy.maximumBytes.map { left.bytes > $0 } ?? false
        case .count: policy.maximumObjects.map { left.count > $0 } ?? false
        case .free: policy.minimumFree.map { free < $0 } ?? false
        case .only, .age: false
        }
    }

    var isAny: Bool { reason != nil }

    /// Takes an object away, and its file.
    mutating func take(_ size: Int64, freeing room: Int64) {
        left.count -= 1
        left.bytes -= size
        free += room
    }
}
