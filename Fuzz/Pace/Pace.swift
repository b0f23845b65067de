#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Insists that no input takes more than a second for each megabyte that it has, of the processor's time.
public enum Pace {
    /// Nanoseconds for each byte: a microsecond, and the sanitizers' instruments take four times as long as the code.
    private static let most: UInt64 = 5000

    /// Runs `body`, which reads as many bytes.
    ///
    /// - Parameter least: what an input of any size may take, in nanoseconds. Default: the first of its kind loads
    ///   tables.
    public static func keep<Value>(
        _ count: Int, least: UInt64 = 200_000_000, _ body: () throws -> Value
    ) rethrows -> Value {
        let start = now
        let value = try body()
        let spent = now - start
        guard spent <= least + UInt64(count) * most else {
            fatalError("\(count) bytes take \(spent / 1_000_000) ms")
        }
        note(spent, count)
        return value
    }

    /// Milliseconds for each megabyte. Unsafe because the fuzzer has one thread.
    nonisolated(unsafe) private static var slowest: UInt64 = 0

    /// Has the slowest input's pace told at the end; of small ones, what any input takes is the most.
    private static func note(_ spent: UInt64, _ count: Int) {
        guard count >= 60_000, spent / UInt64(count) > slowest else { return }
        if slowest == 0 { atexit { print("Slowest: \(Pace.slowest) ms for a megabyte") } }
        slowest = spent / UInt64(count)
    }

    /// The input with a part of it, which its last two bytes choose, so often that it has `size` bytes: what takes time
    /// by its square shows. Nil for seven in eight.
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
