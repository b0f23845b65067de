import Foundation

/// A child's peak resident memory, as well as the system can tell it.
///
/// On Linux `exec` counts the calling process's own peak into the child's `ru_maxrss`: the figure
/// is the child's only where it is above that, and below it the kernel's running maximum has to
/// be read while the child lives.
enum PeakMemory {
    #if canImport(Darwin)
        static let samplingMilliseconds: Int32 = -1

        static func sample(_ pid: Int32) -> Int? { nil }

        static func bytes(of usage: rusage, sampled: Int?) -> Int? { usage.ru_maxrss }
    #else
        static let samplingMilliseconds: Int32 = 10

        /// The running maximum of a living process. Every child's is read a hundred times a second:
        /// with a String of the file, that was a thirtieth of the tests' time.
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
