import Foundation

/// What an eviction is to take, and what it must leave.
public struct EvictionPolicy {
    /// By which instant objects are as old as they are.
    public enum Age: String, Sendable, CaseIterable {
        /// When they were last used, within an hour.
        case used
        /// When their bytes were stored.
        case fetched
    }

    /// Hands over keys of resources, in any order, one at a time.
    public typealias Keys = (_ add: (String) throws -> Void) throws -> Void

    /// The most bytes that may stay: the sum of the objects' sizes. Default: nil, any number.
    public var maximumBytes: Int64?
    /// The most objects that may stay. Default: nil, any number.
    public var maximumObjects: Int?
    /// Objects at least this old, in seconds, go. Default: nil, none.
    public var maximumAge: TimeInterval?
    /// The least bytes that must be free on the cache's file system. Default: nil, none.
    public var minimumFree: Int64?
    /// The oldest go first, by digest if they are of one age. Default: by use.
    public var age = Age.used
    /// Resources whose objects stay, whatever else is said. Default: nil, none but the pinned.
    public var keep: Keys?
    /// The only resources whose objects may stay. Default: nil, all.
    public var only: Keys?
    /// Leftovers younger than this, in seconds, stay: somebody may be about to need them. Default:
    /// an hour.
    public var grace: TimeInterval = 3_600
    /// Whether everything is reckoned and nothing removed. Default: false.
    public var isDryRun = false

    /// Asked often once the keys are read: true ends the eviction within moments; what went is
    /// gone, and the report tells. Default: never.
    public var isCancelled: () -> Bool = { false }

    /// Only leftovers are swept.
    public init() {}
}

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
