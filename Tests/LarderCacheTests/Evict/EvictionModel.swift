import Foundation

@testable import LarderCache
@testable import LarderCore

/// A model of a cache as a plain list, which real evictions are compared with.
struct EvictionModel {
    struct Object {
        let size: Int64
        var used: Double
        var stored: Double
    }

    /// An eviction policy in plain values.
    struct Order {
        var bytes: Int64?
        var count: Int?
        /// Objects used or stored at this time or before are too old.
        var oldest: Double?
        var order = EvictionOrder.used
        var needsAllSpace = false
        var kept: Set<String> = []
        var only: Set<String>?

        /// Returns the start of an object's age.
        func instant(_ object: Object) -> Double {
            order == .fetched ? object.stored : object.used
        }
    }

    var objects: [Digest: Object] = [:]
    /// The object of each key.
    var resources: [String: Digest] = [:]
    var pins: Set<String> = []

    var bytes: Int64 { objects.values.reduce(0) { $0 + $1.size } }

    /// Removes and returns the victims in order, and returns the limits that cannot be met.
    mutating func evict(
        _ order: Order
    ) -> (victims: [EvictionReport.Victim], missed: [EvictionReport.Reason]) {
        let ordered = objects.sorted {
            (order.instant($0.value), $0.key) < (order.instant($1.value), $1.key)
        }
        let held = Set(resources.filter { pins.union(order.kept).contains($0.key) }.values)
        let wanted = order.only.map { only in
            Set(resources.filter { only.contains($0.key) }.values)
        }
        func mandate(_ digest: Digest, _ object: Object) -> EvictionReport.Reason? {
            if let wanted, !wanted.contains(digest) { return .only }
            return order.oldest.map { order.instant(object) <= $0 } == true ? .age : nil
        }
        var victims: [EvictionReport.Victim] = []
        for (digest, object) in ordered where !held.contains(digest) {
            guard let reason = mandate(digest, object) else { continue }
            victims.append(.init(digest: digest, size: object.size, reason: reason))
            objects[digest] = nil
        }
        // Objects larger than the limit come first, because removing smaller ones does not help.
        let limit = order.bytes ?? .max
        let remaining =
            ordered.filter { $0.value.size > limit } + ordered.filter { $0.value.size <= limit }
        for (digest, object) in remaining
        where !held.contains(digest) && mandate(digest, object) == nil {
            guard let reason = missed(order).first else { break }
            victims.append(.init(digest: digest, size: object.size, reason: reason))
            objects[digest] = nil
        }
        resources = resources.filter { objects[$0.value] != nil }
        return (victims, missed(order))
    }

    private func missed(_ order: Order) -> [EvictionReport.Reason] {
        var missed: [EvictionReport.Reason] = []
        if let limit = order.bytes, bytes > limit { missed.append(.size) }
        if let limit = order.count, objects.count > limit { missed.append(.count) }
        if order.needsAllSpace { missed.append(.free) }
        return missed
    }

    /// Records a use. A clock that shows an earlier time does not move the last use back.
    mutating func use(_ digest: Digest, at clock: Double) {
        guard let used = objects[digest]?.used else { return }
        objects[digest]?.used = clock >= used ? clock : used + 0.001
    }

    /// Returns the objects with times in the future, unless these are most objects.
    func futureObjects(at now: Double) -> [Digest] {
        let future = objects.filter { max($0.value.used, $0.value.stored) > now }.map(\.key)
        return 2 * future.count <= objects.count ? future : []
    }
}
