import LarderCache

#if os(Linux)
    import LarderCache

    /// A file that tells of memory pressure, open.
    package protocol PressureInput: Sendable {
        /// Its path, and what is watched of it.
        var name: String { get }
        /// What poll(2) waits at.
        var descriptor: OwnedDescriptor { get }
        /// What poll(2) waits for.
        var events: Int16 { get }

        /// What has happened, after poll(2) gave those events; nil if it is nothing that matters.
        ///
        /// - Throws: why there will be nothing more.
        mutating func level(after events: Int16) throws(CacheError) -> MemoryPressure.Level?
    }
#endif
