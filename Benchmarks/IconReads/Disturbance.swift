import Foundation
import LarderCache

/// The other processes of a benchmark. They end with the parent process.
enum Disturbance {
    /// Stores batches of 500 icons, like a prefetch.
    static func store(in path: String) throws {
        var number = 1_000_000
        while getppid() != 1 {
            try IconDirectory.fill(path, number..<(number + 500), contents: .max)
            number += 500
        }
    }

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
