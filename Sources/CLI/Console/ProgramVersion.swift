import CLarderCommit
import CLarderGuard
import LarderHTTP
import LarderPrefetch

enum ProgramVersion {
    /// `larder 0.2.0 (1a2b3c4d5e6f, libcurl 7.88.1)`. Only packages know the commit.
    static var text: String {
        let commit = larder_commit().map { String(cString: $0) } ?? "unknown commit"
        return "larder \(LarderVersion.current) (\(commit), libcurl \(CurlLibrary.version))"
    }
}

enum ProgramText {
    /// Frees the pages of code and constants, at the cost of a page fault for each that is used
    /// again. Those for loading the program are 8 MB of a run's 39 MB, and are not.
    ///
    /// Does nothing in a debug build, because a debugger writes breakpoints into these pages.
    static func release() {
        #if !DEBUG
            larder_release_text()
        #endif
    }
}
