import Foundation

/// The measurement of a child's peak resident memory.
///
/// On Linux, `exec` includes the peak of the calling process in the child's `ru_maxrss`. That
/// number belongs to the child only if it is above the caller's peak. Otherwise the kernel's
/// running maximum has to be sampled while the child runs.
enum PeakMemory {
    #if canImport(Darwin)
        static let samplingMilliseconds: Int32 = -1

        static func sample(_ pid: Int32) -> Int? { nil }

        static func bytes(of usage: rusage, sampled: Int?) -> Int? { usage.ru_maxrss }
    #else
        static let samplingMilliseconds: Int32 = 10

        /// Returns the running maximum of a process in bytes.
        ///
        /// It is sampled 100 times a second for every child. Parsing the file as a String took a
        /// thirtieth of the tests' time.
        static func sample(_ pid: Int32) -> Int? {
            let file = open("/proc/\(pid)/status", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { text in
                let count = read(file, text.baseAddress, text.count - 1)
                guard count > 0, let start = text.baseAddress else { return nil }
                start[count] = 0
                guard let line = strstr(start, "\nVmHWM:") else { return nil }
                return strtol(line + 7, nil, 10) << 10
            }
        }

        static func bytes(of usage: rusage, sampled: Int?) -> Int? {
            let peak = usage.ru_maxrss << 10
            return peak > sample(getpid()) ?? 0 ? peak : sampled
        }
    #endif
}
