import CLarderCommit
import CLarderGuard
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
    /// Frees the pages of code and constants. What is used again costs a page fault. What only the
    /// loader, starting or planning needed is not read again: 8 MB of a run's 39 are the loader's.
    ///
    /// A debug build keeps it, because a debugger's breakpoints are written into these pages.
    static func release() {
        #if !DEBUG
            larder_release_text()
        #endif
    }
}
