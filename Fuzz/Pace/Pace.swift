#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Insists that no input takes more than a second for each megabyte that it has, of the processor's time.
public enum Pace {
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
        guard spent <= least + UInt64(count) * 1000 else {
            fatalError("\(count) bytes take \(spent / 1_000_000) ms")
        }
        return value
    }

    /// The input with a part of it, which its last two bytes choose, so often that it has 256 KiB: what takes time by
    /// its square shows. Nil for seven in eight.
    public static func stretched(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 4, bytes.reduce(0, &+) % 8 == 0 else { return nil }
        let start = Int(bytes[bytes.count - 1]) % bytes.count
        let part = bytes[start...].prefix(1 + Int(bytes[bytes.count - 2]) % 64)
        let times = max(0, (256 << 10) - bytes.count) / part.count
        return Array(bytes[..<start]) + repeatElement(part, count: times).joined() + bytes[start...]
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
