import Foundation
import LarderCore

/// What an eviction removes, and what it keeps.
public struct EvictionPolicy {
    /// Hands over keys of resources, in any order, one at a time.
    public typealias Keys = (_ add: (String) throws -> Void) throws -> Void

    /// The maximum sum of the objects' sizes, in bytes. Default: nil, no limit.
    public var maximumBytes: Int64?
    /// The maximum number of objects. Default: nil, no limit.
    public var maximumObjects: Int?
    /// The age in seconds from which objects are removed. Default: nil, no limit.
    public var maximumAge: TimeInterval?
    /// The minimum of free bytes on the cache's file system. Default: nil, no limit.
    public var minimumFree: Int64?
    /// Which objects are removed first. Default: the least recently used.
    public var order = EvictionOrder.used
    /// Resources whose objects are kept in any case. Default: nil, only the pinned ones.
    public var keep: Keys?
    /// The only resources whose objects are kept. Default: nil, all.
    public var only: Keys?
    /// The minimum age in seconds of leftovers that are removed: a process may be about to need a
    /// younger one. Default: an hour.
    public var grace: TimeInterval = 3_600
    /// Whether nothing is removed, and the report tells what would be. Default: false.
    public var isDryRun = false
    /// Called often once the keys are read. If it returns true, the eviction ends within moments,
    /// and the report tells what was removed. Default: returns false.
    public var isCancelled: () -> Bool = { false }

    /// A policy that removes only leftovers.
    public init() {}
}

/// Which objects are evicted first.
public struct EvictionOrder: Sendable, Equatable {
    /// The name of the order on the command line.
    public let name: String
    /// The column of `objects` that an object's age counts from.
    let clock: String
    /// The SQL expression of ``EvictionPlan`` to sort by. Default: the time of the age.
    var sortKey = "since"

    /// The least recently used first.
    public static let used = EvictionOrder(name: "used", clock: "used_at")
    /// Those whose bytes were stored first.
    public static let fetched = EvictionOrder(name: "fetched", clock: "stored_at")
    /// All orders.
    public static let all = [used, fetched]
}

/// By how much a cache exceeds its limits while its objects are removed one by one.
struct EvictionExcess {
    let policy: EvictionPolicy
    private(set) var left: ObjectTally
    private(set) var free: Int64

    var missed: [EvictionReport.Reason] { Self.limits.filter(isMissed) }

    /// The first of them. It is asked for every object, so it makes no list.
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

    mutating func take(_ size: Int64, freeing room: Int64) {
        left.count -= 1
        left.bytes -= size
        free += room
    }
}
