import CLarderCommit
import Foundation
import LarderHTTP
import LarderPrefetch

/// What `--version` prints.
enum ProgramVersion {
    /// The version, the commit that it was built from if it is packaged, and the libcurl that it
    /// runs with: `larder 0.2.0 (1a2b3c4d5e6f, libcurl 7.88.1)`.
    static var text: String {
        let commit = larder_commit().map { String(cString: $0) } ?? "unknown commit"
        return "larder \(LarderVersion.current) (\(commit), libcurl \(CurlLibrary.version))"
    }
}

/// The code of the program and of its libraries, as far as it is in memory.
enum ProgramText {
    /// Lets go of it. What is run again comes back from the kernel's cache at the price of a page
    /// fault; what only starting and planning have needed does not.
    ///
    /// Such pages are never written to, but for the breakpoints of a debugger: a debug build keeps
    /// them.
    static func release() {
        #if os(Linux) && !DEBUG
            for line in maps() {
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

    #if os(Linux) && !DEBUG
        /// The kernel tells of a page of them at a time, which Foundation takes for the whole file.
        private static func maps() -> [String] {
            guard let file = fopen("/proc/self/maps", "re") else { return [] }
            defer { fclose(file) }
            var (line, room): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
            defer { free(line) }
            var lines: [String] = []
            while getline(&line, &room, file) > 0, let line {
                lines.append(String(cString: line).trimmingCharacters(in: .newlines))
            }
            return lines
        }
    #endif
}
