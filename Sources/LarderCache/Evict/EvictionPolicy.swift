import Foundation
import LarderCore

/// The limits of an eviction, and the objects that it keeps.
public struct EvictionPolicy {
    /// A function that calls `add` with each key of a set of resources, in any order.
    public typealias Keys = (_ add: (String) throws -> Void) throws -> Void

    /// The maximum size of all objects in bytes. Default: no limit.
    public var maximumBytes: Int64?
    /// The maximum number of objects. Default: no limit.
    public var maximumObjects: Int?
    /// The maximum age of objects in seconds. Default: no limit.
    public var maximumAge: TimeInterval?
    /// The minimum free space of the file system in bytes. Default: no limit.
    public var minimumFree: Int64?
    /// The order of removal. Default: least recently used first.
    public var order = EvictionOrder.used
    /// Resources whose objects are kept, in addition to pinned resources. Default: none.
    public var keep: Keys?
    /// Resources whose objects may stay. All other objects are removed. Default: all resources.
    public var only: Keys?
    /// The minimum age in seconds of leftover files to remove. Running processes may still need
    /// younger files. Default: one hour.
    public var grace: TimeInterval = 3_600
    /// Whether to only report what would be removed. Default: false.
    public var isDryRun = false
    /// Called often. Returning true stops the eviction soon. Default: never.
    public var isCancelled: () -> Bool = { false }

    /// Creates a policy that removes only leftover files.
    public init() {}
}

/// The order in which objects are evicted.
public enum EvictionOrder: String, Sendable, CaseIterable {
    /// Least recently used first.
    case used
    /// Least recently stored first.
    case fetched

    var clock: String { self == .used ? "used_at" : "stored_at" }
}

struct EvictionExcess {
    let policy: EvictionPolicy
    private(set) var left: ObjectTally
    private(set) var free: Int64

    var missed: [EvictionReport.Reason] { Self.limits.filter(isMissed) }

    /// The first exceeded limit. Allocates no array, because it is read for every object.
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
