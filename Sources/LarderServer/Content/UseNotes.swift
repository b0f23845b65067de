import LarderCache
import Synchronization

/// Which objects were used, to be recorded for an eviction in batches.
///
/// Nobody waits for it. If another process writes the index just then, a batch is dropped: the
/// objects are noted again when they are next looked up.
final class UseNotes: Sendable {
    private let waiting = Mutex<Set<Digest>>([])

    /// Notes that an object was used, if its last recorded use is long enough ago.
    func note(_ object: StoredObject) {
        guard ObjectUse.isDue(object.usedAt) else { return }
        waiting.withLock { waiting in
            if waiting.count < ObjectUse.stepLimit { waiting.insert(object.digest) }
        }
    }

    /// Records them. Called every few seconds, on a thread of the pool.
    func record(in reader: CacheReader) {
        let objects = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        if !objects.isEmpty { reader.noteUse(of: Array(objects)) }
    }
}
