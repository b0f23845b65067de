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
