import Foundation

/// One icon that is being got, for all who wait for it.
struct Load {
    /// Where it is on its way.
    enum Stage {
        /// It waits to be read from the disk, or is being read.
        case reading
        /// It waits to be fetched, or is being fetched.
        case fetching
    }

    struct Waiter {
        var priority: IconPriority
        /// Nil for one that was only to be had ready.
        let then: (@Sendable (IconState) -> Void)?
    }

    let url: URL
    /// Tells it from others of the same URL, before or after it.
    let serial: Int
    var stage = Stage.reading
    var waiters: [Int: Waiter] = [:]
    /// The work that is under way; nil while it waits for a place.
    var task: Task<Void, Never>?
    /// Whether it is on the disk, and damaged there.
    var isDamaged = false
    /// What is fetched; nil before.
    var request: IconRequest?

    var priority: IconPriority { waiters.values.map(\.priority).max() ?? .veryLow }
}
