import Foundation
import LarderCache
import LarderCore

/// The most recently used icons in memory, by URL, within a limit of bytes.
///
/// It can be used on any thread. A look-up, an insertion and a removal take constant time, and wait
/// only for each other. Memory is freed outside the lock, so that a look-up does not wait for many
/// evictions. Memory pressure evicts half of the cost (warning), or all entries (critical).
public final class MemoryCache: @unchecked Sendable {
    // Unchecked because there are variables: every access to `store` holds `lock`, and only `init`
    // sets `observation`. (`Mutex` needs iOS 18.)
    private let lock = NSLock()
    private var store: MemoryStore
    private var observation: MemoryPressure.Observation?
    private let log: CacheLog

    /// 32 MiB, enough for several thousand icons, which are not decoded.
    public static let defaultCostLimit = 32 << 20

    /// The cost of an entry besides its data, key and media type: table places and block headers.
    /// Measured with tiny entries, and rounded up.
    package static let entryOverhead = 384

    /// Maximum number of evictions before other threads can take the lock.
    private static let evictionsAtOnce = 256

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - costLimit: Maximum cost of all entries, in bytes. 0 or a negative limit keeps nothing.
    ///     Default: ``defaultCostLimit``.
    ///   - countLimit: Maximum number of entries. Default: only their cost is limited.
    ///   - entryShare: Maximum cost of an entry, as a share of `costLimit` from 0 to 1, so that it
    ///     does not evict too many others. Default: a quarter.
    ///   - pressure: The source of memory pressure, or nil for none. Default: the system's, which
    ///     on Linux reports only what the app does.
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

    /// Returns the entry of a key, and makes it the most recently used. Counts a hit or a miss.
    public func entry(for key: String) -> Entry? {
        let key = CacheKey(key)
        return lock.withLock { store.entry(for: key) }
    }

    /// Whether the key has an entry. Neither counted nor a use.
    public func contains(_ key: String) -> Bool {
        let key = CacheKey(key)
        return lock.withLock { store.contains(key) }
    }

    /// Adds or replaces an entry as the most recently used, and evicts the least recently used ones
    /// over the limits.
    ///
    /// - Returns: False if the entry costs more than ``entryCostLimit``. It is then not kept, and
    ///   the outdated entry of that key is removed.
    @discardableResult
    public func insert(_ entry: Entry, for key: String) -> Bool {
        let item = RecencyTable.Item(
            key: CacheKey(kept: key), entry: entry, cost: Self.cost(of: entry, for: key))
        return whileLocked { $0.insert(item, &$1) }
    }

    /// Removes and returns the entry of a key.
    @discardableResult
    public func remove(_ key: String) -> Entry? {
        let key = CacheKey(key)
        return whileLocked { $0.remove(key, &$1) }
    }

    /// Removes all entries.
    public func removeAll() { empty(\.removals) }

    /// Evicts the least recently used entries until the rest cost at most `cost` bytes.
    public func trim(toCost cost: Int) { shrink { _ in MemoryStore.Limits(cost: cost) } }

    /// Evicts half of the cost for a warning, and all entries if memory is critical. The source of
    /// memory pressure calls it, and an app can, too.
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

    /// The current and past entries.
    public var counts: Counts { lock.withLock { store.counts } }

    /// Bytes of the icons alone.
    package var dataBytes: Int { lock.withLock { store.dataBytes } }

    /// Maximum cost of all entries, in bytes. A lower limit evicts at once.
    public var costLimit: Int {
        get { lock.withLock { store.limits.cost } }
        set {
            lock.withLock { store.limits.cost = max(0, newValue) }
            shrink(to: \.limits)
        }
    }

    /// Maximum number of entries. A lower limit evicts at once.
    public var countLimit: Int {
        get { lock.withLock { store.limits.count } }
        set {
            lock.withLock { store.limits.count = max(0, newValue) }
            shrink(to: \.limits)
        }
    }

    /// Maximum cost of one entry, in bytes: a share of ``costLimit``.
    public var entryCostLimit: Int { lock.withLock { store.entryCostLimit } }

    /// Returns the cost of an entry, in bytes: its data, media type and key, and about 400 bytes
    /// for the tables.
    public static func cost(of entry: Entry, for key: String) -> Int {
        entry.data.count + (entry.mediaType?.utf8.count ?? 0) + key.utf8.count + entryOverhead
    }

    /// Evicts in steps, so that other threads do not wait long, and no more entries than there are
    /// at first, since other threads may insert some.
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

    /// Runs `body` with the lock, and frees removed entries without it: that takes longer than the
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
    /// The entries of a cache, and the events since it was created.
    ///
    /// `insertions` is always `entries + replacements + evictions + removals`.
    public struct Counts: Sendable, Equatable {
        /// Entries now.
        public internal(set) var entries = 0
        /// Their cost, in bytes.
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
        /// Entries that ``MemoryCache/remove(_:)``, ``MemoryCache/removeAll()`` or the refusal of a
        /// newer entry removed.
        public internal(set) var removals = 0
        /// Entries that were not kept because of ``MemoryCache/entryCostLimit``.
        public internal(set) var refusals = 0
    }

    /// An icon's bytes, media type and source. It never changes.
    public struct Entry: Sendable {
        /// The origin of an icon's bytes.
        public enum Source: Sendable {
            /// A cache directory that can be written to.
            case disk
            /// A read-only cache directory, for example in an app's bundle.
            case bundle
            /// The icon's server.
            case network
        }

        /// The encoded icon.
        public let data: Data
        /// For example `image/png`; nil if unknown.
        public let mediaType: String?
        /// The origin of the bytes.
        public let source: Source

        /// Makes an entry. `data` should be all of its buffer, because a part keeps the whole in
        /// memory. A part that does not begin with the buffer is copied.
        public init(data: Data, mediaType: String? = nil, source: Source) {
            self.data = data.startIndex == 0 ? data : data.withUnsafeBytes { Data($0) }
            self.mediaType = mediaType
            self.source = source
        }
    }
}
