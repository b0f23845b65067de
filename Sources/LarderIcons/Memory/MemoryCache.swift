import Foundation
import LarderCache
import LarderCore

/// An LRU cache of icons in memory, by URL, with a limit in bytes. Can be used on any thread.
public final class MemoryCache: @unchecked Sendable {
    // Unchecked because `lock` guards `store`, and only `init` sets `observation`.
    private let lock = NSLock()
    private var store: MemoryStore
    private var observation: MemoryPressure.Observation?
    private let log: CacheLog

    /// The default limit: 32 MiB, enough for several thousand encoded icons.
    public static let defaultCostLimit = 32 << 20

    /// The measured memory of an entry besides its data, key and media type, in bytes.
    package static let entryOverhead = 384
    private static let evictionsAtOnce = 256

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - costLimit: The maximum total cost, in bytes. With 0, no entries are kept. Default:
    ///     ``defaultCostLimit``.
    ///   - countLimit: The maximum number of entries. Default: no limit.
    ///   - entryShare: The maximum cost of one entry as a fraction of `costLimit`. Default: 0.25.
    ///   - pressure: The source of memory pressure, if any. Default: ``MemoryPressure/system()``.
    ///   - log: Receives a message when memory pressure evicts entries. Default: none.
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

    /// Returns a key's entry and makes it the most recently used. Counts a hit or a miss.
    public func entry(for key: String) -> Entry? {
        let key = CacheKey(key)
        return lock.withLock { store.entry(for: key) }
    }

    /// Whether the key has an entry. Counts no hit, miss or use.
    public func contains(_ key: String) -> Bool {
        let key = CacheKey(key)
        return lock.withLock { store.contains(key) }
    }

    /// Adds or replaces an entry, and evicts the least recently used ones until the limits are met.
    /// Returns false, and removes the key's previous entry, if the entry costs more than
    /// ``entryCostLimit`` or ``countLimit`` is 0.
    @discardableResult public func insert(_ entry: Entry, for key: String) -> Bool {
        let item = MemoryStore.Item(
            key: CacheKey(kept: key), entry: entry, cost: Self.cost(of: entry, for: key))
        return whileLocked { $0.insert(item, &$1) }
    }

    /// Removes and returns the entry of a key.
    @discardableResult public func remove(_ key: String) -> Entry? {
        let key = CacheKey(key)
        return whileLocked { $0.remove(key, &$1) }
    }

    /// Removes all entries.
    public func removeAll() { empty(\.removals) }

    /// Evicts the least recently used entries until the total cost is at most `cost` bytes.
    public func trim(toCost cost: Int) { shrink { _ in MemoryStore.Limits(cost: cost) } }

    /// On a warning, evicts entries until the cost has halved. On critical pressure, evicts all.
    public func respond(to level: MemoryPressure.Level) {
        let before = counts
        switch level {
        case .normal: return
        case .warning: shrink { MemoryStore.Limits(cost: $0.counts.cost / 2) }
        case .critical: empty(\.evictions)
        }
        log(
            .info,
            "memory pressure (\(level)) evicted \(counts.evictions - before.evictions) icons")
    }

    /// The statistics of the cache.
    public var counts: Counts { lock.withLock { store.counts } }
    package var dataBytes: Int { lock.withLock { store.dataBytes } }

    /// The maximum total cost, in bytes. Lowering the limit evicts entries immediately.
    public var costLimit: Int {
        get { lock.withLock { store.limits.cost } }
        set {
            lock.withLock { store.limits.cost = max(0, newValue) }
            shrink(to: \.limits)
        }
    }

    /// The maximum number of entries. Lowering the limit evicts entries immediately.
    public var countLimit: Int {
        get { lock.withLock { store.limits.count } }
        set {
            lock.withLock { store.limits.count = max(0, newValue) }
            shrink(to: \.limits)
        }
    }

    /// The maximum cost of one entry, in bytes. It is a fraction of ``costLimit``.
    public var entryCostLimit: Int { lock.withLock { store.entryCostLimit } }

    /// Returns an entry's cost in bytes: data, media type, key, and 384 bytes of overhead.
    public static func cost(of entry: Entry, for key: String) -> Int {
        entry.data.count + (entry.mediaType?.utf8.count ?? 0) + key.utf8.count + entryOverhead
    }

    /// Evicts in short steps. Evicts at most the current number of entries, because other threads
    /// may keep inserting.
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

    /// Frees removed entries without the lock, because this takes long and may call this cache.
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
    /// The statistics of a cache since it was created. `insertions` is always `entries +
    /// replacements + evictions + removals`.
    public struct Counts: Sendable, Equatable {
        /// The current number of entries.
        public internal(set) var entries = 0
        /// The current total cost, in bytes.
        public internal(set) var cost = 0
        /// The maximum total cost so far, in bytes.
        public internal(set) var peakCost = 0
        /// The number of look-ups that found an entry.
        public internal(set) var hits = 0
        /// The number of look-ups that found no entry.
        public internal(set) var misses = 0
        /// The number of added entries.
        public internal(set) var insertions = 0
        /// The number of entries replaced by a new entry of the same key.
        public internal(set) var replacements = 0
        /// The number of entries removed by a limit, a trim or memory pressure.
        public internal(set) var evictions = 0
        /// The number of entries removed by the app, or because their replacement was refused.
        public internal(set) var removals = 0
        /// The number of entries refused because of ``MemoryCache/entryCostLimit``.
        public internal(set) var refusals = 0
    }

    /// An immutable icon in memory.
    public struct Entry: Sendable {
        /// The origin of an icon's bytes.
        public enum Source: Sendable {
            /// A writable cache directory.
            case disk
            /// A read-only cache directory, for example in an app's bundle.
            case bundle
            /// The icon's server.
            case network
        }

        /// The encoded icon.
        public let data: Data
        /// The media type, for example `image/png`; nil if unknown.
        public let mediaType: String?
        /// The origin of the bytes.
        public let source: Source

        /// Creates an entry. Do not pass a prefix of longer data, which would keep the whole data
        /// in memory. Slices with a start index other than 0 are copied.
        public init(data: Data, mediaType: String? = nil, source: Source) {
            self.data = data.startIndex == 0 ? data : data.withUnsafeBytes { Data($0) }
            (self.mediaType, self.source) = (mediaType, source)
        }
    }
}
