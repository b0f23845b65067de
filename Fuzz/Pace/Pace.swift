#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A limit on CPU time of one second per megabyte of input, without the cost of the sanitizers.
public enum Pace {
    /// In nanoseconds per byte. The sanitizers' instrumentation takes four fifths.
    private static let limit: UInt64 = 5000

    /// Runs `body`, which reads `count` bytes, and fails if it takes too long.
    ///
    /// - Parameter least: The time in nanoseconds for any size. The default lets the first input
    ///   load tables.
    public static func keep<Value>(
        _ count: Int, least: UInt64 = 200_000_000, _ body: () throws -> Value
    ) rethrows -> Value {
        let start = now
        let value = try body()
        let spent = now - start
        guard spent <= least + UInt64(count) * limit else {
            fatalError("\(count) bytes took \(spent / 1_000_000) ms")
        }
        note(spent, count)
        return value
    }

    /// Milliseconds per megabyte. Unsafe because the compiler does not know that the fuzzer has one
    /// thread.
    nonisolated(unsafe) private static var slowest: UInt64 = 0

    /// Records the slowest input, printed at the end. Small inputs are ignored because their fixed
    /// cost dominates.
    private static func note(_ spent: UInt64, _ count: Int) {
        guard count >= 60_000, spent / UInt64(count) > slowest else { return }
        if slowest == 0 { atexit { print("Slowest: \(Pace.slowest) ms per megabyte") } }
        slowest = spent / UInt64(count)
    }

    /// Repeats a part of the input, which its last two bytes select, up to `size` bytes, to reveal
    /// quadratic time. Returns nil for seven of eight inputs.
    public static func stretched(_ bytes: [UInt8], to size: Int = 256 << 10) -> [UInt8]? {
        guard bytes.count >= 4, bytes.reduce(0, &+) % 8 == 0 else { return nil }
        let start = Int(bytes[bytes.count - 1]) % bytes.count
        let part = bytes[start...].prefix(1 + Int(bytes[bytes.count - 2]) % 64)
        let times = max(0, size - bytes.count) / part.count
        var stretched = Array(bytes[..<start])
        stretched.reserveCapacity(size)
        for _ in 0..<times { stretched += part }
        return stretched + bytes[start...]
    }

    private static var now: UInt64 { clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID) }
}

#if !canImport(Darwin)
    private func clock_gettime_nsec_np(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
#endif
