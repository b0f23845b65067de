import Foundation

/// The code of the program and of its libraries, as far as it is in memory.
enum ProgramText {
    /// Lets go of it. What is run again comes back from the kernel's cache at the price of a page fault;
    /// what only starting and planning have needed does not. Measured: 4 MB of a run's 50.
    ///
    /// Such pages are never written to, but for the breakpoints of a debugger: a debug build keeps them.
    static func release() {
        #if os(Linux) && !DEBUG
            guard let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else {
                return
            }
            for line in maps.split(separator: "\n") {
                // proc_pid_maps(5): range, permissions, offset, device, inode, path.
                let fields = line.split(separator: " ", maxSplits: 5)
                guard fields.count == 6, fields[1] == "r-xp", fields[5].contains("/") else {
                    continue
                }
                let range = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                guard range.count == 2 else { continue }
                madvise(
                    UnsafeMutableRawPointer(bitPattern: range[0]), Int(range[1] - range[0]),
                    MADV_DONTNEED)
            }
        #endif
    }
}
