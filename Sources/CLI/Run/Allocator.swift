#if canImport(Glibc)
    import CLarderSystem

    /// Keeps the memory of a long run at a plateau.
    enum Allocator {
        /// By default glibc gives threads that meet in malloc(3) a heap each, eight for each core,
        /// and what one frees is of no use to the others; and it takes ever larger blocks from
        /// heaps, too, which then cannot shrink. Measured: 10 MB of a run's 58. To be called before
        /// there are threads.
        static func keepSmall() {
            mallopt(M_ARENA_MAX, 2)
            mallopt(M_MMAP_THRESHOLD, 128 << 10)
            mallopt(M_TRIM_THRESHOLD, 128 << 10)
        }
    }
#else
    enum Allocator {
        /// Nothing to do: other systems share what was freed.
        static func keepSmall() {}
    }
#endif
