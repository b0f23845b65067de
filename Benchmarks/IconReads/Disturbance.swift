import Foundation
import LarderCache

/// What other processes do to a cache while an app reads it, until they are ended.
enum Disturbance {
    /// Stores 500 icons after the other, as a prefetch does.
    static func store(in path: String) throws {
        var number = 1_000_000
        while getppid() != 1 {
            try IconDirectory.fill(path, number..<(number + 500), contents: .max)
            number += 500
        }
    }

    /// Evicts what exceeds a limit, again and again.
    static func evict(from path: String) throws {
        var policy = EvictionPolicy()
        policy.maximumObjects = 6_000
        policy.order = .fetched
        while getppid() != 1 {
            let cache = try Cache.openMakingRoom(at: path, wait: .none)
            _ = try cache.evict(policy)
            cache.close()
        }
    }
}
