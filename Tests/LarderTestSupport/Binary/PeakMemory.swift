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

        /// The running maximum of a living process.
        static func sample(_ pid: Int32) -> Int? {
            guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            else { return nil }
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            return line.flatMap { $0.split(whereSeparator: \.isWhitespace).dropFirst().first }
                .flatMap { Int($0) }.map { $0 << 10 }
        }

        static func bytes(of usage: rusage, sampled: Int?) -> Int? {
            let peak = usage.ru_maxrss << 10
            return peak > sample(getpid()) ?? 0 ? peak : sampled
        }
    #endif
}
