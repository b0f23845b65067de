import Foundation
import LarderCache
import Synchronization

/// Looks for the objects of a page of resources in a cache's tree, on another thread.
final class PresenceLookup: Sendable {
    private let page: [PlannedResource]
    /// The places of those that are looked for.
    private let wanted: [Int]
    private let arePresent = Mutex<Result<[Bool], CacheError>>(.success([]))
    private let isDone = DispatchSemaphore(value: 0)

    private static let queue = DispatchQueue(label: "larder.presence")

    /// Begins to look.
    ///
    /// - Parameter isWanted: whether it matters that the object is there.
    init(
        of page: [PlannedResource], in cache: Cache?,
        where isWanted: (PlannedResource.Known) -> Bool
    ) {
        self.page = page
        wanted = page.indices.filter { page[$0].known.map(isWanted) ?? false }
        guard let cache, !wanted.isEmpty else {
            isDone.signal()
            return
        }
        Self.queue.async { [self] in
            let objects = wanted.compactMap { page[$0].known.map { ($0.digest, $0.size) } }
            let found = Result { () throws(CacheError) in try cache.arePresent(objects) }
            arePresent.withLock { $0 = found }
            isDone.signal()
        }
    }

    /// Waits for the answer, and hands out the page in its order. To be called once.
    func forEach(_ body: (PlannedResource, _ isPresent: Bool) throws -> Void) throws {
        isDone.wait()
        let present = try arePresent.withLock { $0 }.get()
        var isPresent = [Bool](repeating: false, count: page.count)
        for (place, isThere) in zip(wanted, present) { isPresent[place] = isThere }
        for (place, resource) in page.enumerated() { try body(resource, isPresent[place]) }
    }
}
