import CLarderCommit
import Foundation
import LarderHTTP
import LarderPrefetch

enum ProgramVersion {
    /// What `--version` prints: `larder 0.2.0 (1a2b3c4d5e6f, libcurl 7.88.1)`. Only packages know
    /// their commit.
    static var text: String {
        let commit = larder_commit().map { String(cString: $0) } ?? "unknown commit"
        return "larder \(LarderVersion.current) (\(commit), libcurl \(CurlLibrary.version))"
    }
}

enum ProgramText {
    /// Frees the pages of code. Code that runs again costs a page fault. Code that only starting
    /// and planning needed is not loaded again.
    ///
    /// A debug build keeps it, because a debugger's breakpoints are written into these pages.
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
        /// By hand, because the kernel returns a page at a time, and Foundation stops after one.
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
