import Foundation
import LarderCache

/// Tells an eviction which objects an app uses: in batches, on a queue of its own.
///
/// Nobody waits for it. If another process writes the index just then, the batch is dropped: the
/// objects are noted again when they are next read.
final class UseRecorder: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`.

    /// The time between a use and its record, within which others join it.
    private static let delay = DispatchTimeInterval.seconds(2)

    private let layer: CacheLayer
    private let queue = DispatchQueue(label: "larder.use", qos: .background)
    private let lock = NSLock()
    private var waiting: Set<Digest> = []

    init(_ layer: CacheLayer) { self.layer = layer }

    /// Notes that an object was used, if its last recorded use is long enough ago.
    func note(_ object: StoredObject) {
        guard ObjectUse.isDue(object.usedAt) else { return }
        let isFirst = lock.withLock {
            guard waiting.count < ObjectUse.stepLimit else { return false }
            return waiting.insert(object.digest).inserted && waiting.count == 1
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + Self.delay) { [weak self] in self?.record() }
    }

    /// Records what waits, and returns when that is done.
    func flush() { queue.sync { record() } }

    private func record() {
        let batch = lock.withLock {
            defer { waiting = [] }
            return waiting
        }
        if !batch.isEmpty { layer.noteUse(of: Array(batch)) }
    }
}
