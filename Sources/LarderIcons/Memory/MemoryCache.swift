import Foundation
import LarderCache
import LarderCore

/// Icons in memory, by URL: as many of the most recently used as a limit of bytes allows.
///
/// It may be used from any thread. A look-up, an insertion and a removal take constant time, and
/// wait for nothing but each other: no disk, no other process. Memory is freed outside the lock, so
/// that a look-up never waits for a thousand evictions.
///
/// Under memory pressure it gives up half of what it holds (a warning), or everything (critical).
public final class MemoryCache: @unchecked Sendable {
    // Unchecked because there are variables: every access to `store` holds `lock`, and only `init`
    // sets `observation`. (`Mutex` needs iOS 18.)
    private let lock = NSLock()
    private var store: MemoryStore
    private var observation: MemoryPressure.Observation?
    private let log: CacheLog

    /// The limit that is meant for icons: 32 MiB, several thousand of them. Bytes are held as they
    /// are stored, not decoded.
    public static let defaultCostLimit = 32 << 20

    /// The cost of an entry besides its data, key and media type: table places and block headers.
    /// Measured with tiny entries, and rounded up.
    package static let entryOverhead = 384

    /// How many entries are evicted before other threads get their turn.
    private static let evictionsAtOnce = 256

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - costLimit: what all entries may cost, in bytes; by default ``defaultCostLimit``. A
    ///     negative limit is 0, which keeps nothing.
    ///   - countLimit: how many entries may be held. By default, only their cost is limited.
    ///   - entryShare: the share of `costLimit`, from 0 to 1, that one entry may cost. An entry
    ///     that costs more is not kept, because it would evict too many others at once. By default
    ///     a quarter: 8 MiB of 32, which is more than any icon has.
    ///   - pressure: the source of memory pressure, or nil for none. Default: the system's, which
    ///     on Linux reports only what the app does.
    ///   - log: receives a message when memory pressure evicts entries. Default: none.
    public init(
        costLimit: Int = MemoryCache.defaultCostLimit, countLimit: Int = .max,
        entryShare: Double = 0.25, pressure: MemoryPressure? = .system(), log: CacheLog = .none
    ) {
        self.log = log
        store = MemoryStore(
            MemoryStore.Limits(cost: max(0, costLimit), count: max(0, countLimit)),
            entryShare: entryShare)
        observation = pressure?.observe { [weak self] level in self?.respond(to: level) }
    }

    /// The entry of a key, which is now the most recently used. Counted as a hit or a miss.
    public func entry(for key: String) -> Entry? {
        let key = CacheKey(key)
        return lock.withLock { store.entry(for: key) }
    }

    /// Whether there is an entry of that key. This neither counts nor is a use.
    public func contains(_ key: String) -> Bool {
        let key = CacheKey(key)
        return lock.withLock { store.contains(key) }
    }

    /// Keeps an entry as the most recently used, in place of any other of that key, and evicts the
    /// least recently used ones that are then over the limits.
    ///
    /// - Returns: false if the entry costs more than ``entryCostLimit``. Then it is not kept, and
    ///   what was there of that key is removed, because it is out of date.
    @discardableResult
    public func insert(_ entry: Entry, for key: String) -> Bool {
        let item = RecencyTable.Item(
            key: CacheKey(kept: key), entry: entry, cost: Self.cost(of: entry, for: key))
        return whileLocked { $0.insert(item, &$1) }
    }

    /// Removes the entry of a key, and returns it.
    @discardableResult
    public func remove(_ key: String) -> Entry? {
        let key = CacheKey(key)
        return whileLocked { $0.remove(key, &$1) }
    }

    /// Removes all entries.
    public func removeAll() { empty(\.removals) }

    /// Evicts the least recently used entries until the others cost no more than `cost` bytes.
    public func trim(toCost cost: Int) { shrink { _ in MemoryStore.Limits(cost: cost) } }

    /// Gives up half of what is held for a warning, and everything if memory is critical. Called by
    /// the cache's own source of memory pressure; an app may call it, too.
    public func respond(to level: MemoryPressure.Level) {
        let before = log.isEnabled ? counts : Counts()
        switch level {
        case .normal: return
        case .warning: shrink { MemoryStore.Limits(cost: $0.counts.cost / 2) }
        case .critical: empty(\.evictions)
        }
        log(
            .info,
            "memory pressure (\(level)) evicted \(counts.evictions - before.evictions) icons")
    }

    /// What is held, and what has happened so far.
    public var counts: Counts { lock.withLock { store.counts } }

    /// Bytes of the icons that are held, and of nothing else.
    package var dataBytes: Int { lock.withLock { store.dataBytes } }

    /// What all entries may cost, in bytes. A lower limit evicts at once.
    public var costLimit: Int {
        get { lock.withLock { store.limits.cost } }
        set {
            lock.withLock { store.limits.cost = max(0, newValue) }
            shrink(to: \.limits)
        }
    }

    /// How many entries may be held. A lower limit evicts at once.
    public var countLimit: Int {
        get { lock.withLock { store.limits.count } }
        set {
            lock.withLock { store.limits.count = max(0, newValue) }
            shrink(to: \.limits)
        }
    }

    /// What one entry may cost, in bytes: a share of ``costLimit``.
    public var entryCostLimit: Int { lock.withLock { store.entryCostLimit } }

    /// What an entry costs, in bytes: its data, its media type, its key, and about 400 bytes for
    /// the places that they take.
    public static func cost(of entry: Entry, for key: String) -> Int {
        entry.data.count + (entry.mediaType?.utf8.count ?? 0) + key.utf8.count + entryOverhead
    }

    /// Evicts until the limits are met that `target` gives for what is held now. In steps, so that
    /// nobody waits long, and no more entries than are there at first: others may be inserting.
    private func shrink(to target: (MemoryStore) -> MemoryStore.Limits) {
        var (left, limits) = lock.withLock { (store.counts.entries, target(store)) }
        while left > 0 {
            let evicted = whileLocked { store, removed in
                store.evict(to: limits, atMost: min(left, Self.evictionsAtOnce), &removed)
                return removed.count
            }
            guard evicted > 0 else { return }
            left -= evicted
        }
    }

    private func empty(_ counter: WritableKeyPath<Counts, Int>) {
        let removed = lock.withLock { store.empty(counter) }
        withExtendedLifetime(removed) {}
    }

    /// Runs `body` with the lock, and frees what it removes without: that takes longer than the
    /// rest, and a `Data` may have a deallocator that uses this cache.
    private func whileLocked<Result>(
        _ body: (_ store: inout MemoryStore, _ removed: inout [MemoryStore.Item]) -> Result
    ) -> Result {
        var removed: [MemoryStore.Item] = []
        let result = lock.withLock { body(&store, &removed) }
        withExtendedLifetime(removed) {}
        return result
    }
}

extension MemoryCache {
    /// What a cache holds, and what happened to it since it was made.
    ///
    /// `insertions` is always `entries + replacements + evictions + removals`.
    public struct Counts: Sendable, Equatable {
        /// Entries held.
        public internal(set) var entries = 0
        /// What they cost, in bytes.
        public internal(set) var cost = 0
        /// The highest cost so far, in bytes.
        public internal(set) var peakCost = 0
        /// Look-ups that found an entry.
        public internal(set) var hits = 0
        /// Look-ups that found none.
        public internal(set) var misses = 0
        /// Entries that were kept.
        public internal(set) var insertions = 0
        /// Entries that another one of the same key replaced.
        public internal(set) var replacements = 0
        /// Entries that a limit, ``MemoryCache/trim(toCost:)`` or memory pressure removed.
        public internal(set) var evictions = 0
        /// Entries that ``MemoryCache/remove(_:)`` or ``MemoryCache/removeAll()`` removed, or that
        /// had the key of one that was refused.
        public internal(set) var removals = 0
        /// Entries that were not kept, because they alone cost more than
        /// ``MemoryCache/entryCostLimit``.
        public internal(set) var refusals = 0
    }
}

extension MemoryCache {
    /// An icon's bytes, and what is known of them. It never changes.
    public struct Entry: Sendable {
        /// Where the bytes were read before they were in memory.
        public enum Source: Sendable {
            /// A cache directory that may be written to.
            case disk
            /// A cache directory that is only read, such as one in an app's bundle.
            case bundle
            /// The icon's server.
            case network
        }

        /// The icon, as it is stored: not decoded.
        public let data: Data
        /// Its media type, such as `image/png`; nil if that is not known.
        public let mediaType: String?
        /// Where the bytes were read.
        public let source: Source

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - data: the icon's bytes. They should be all of their buffer, because a part keeps the
        ///     whole in memory. A part that does not begin with the buffer is copied.
        ///   - mediaType: by default, it is not known.
        ///   - source: where the bytes were read.
        public init(data: Data, mediaType: String? = nil, source: Source) {
            self.data =
                data.startIndex == 0 ? data : data.withUnsafeBytes { Data($0) }
            self.mediaType = mediaType
            self.source = source
        }
    }
}
