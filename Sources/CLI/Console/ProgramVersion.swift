import CLarderCommit
import CLarderGuard
import LarderHTTP
import LarderPrefetch

enum ProgramVersion {
    /// The output of `--version`: `larder 0.2.0 (1a2b3c4d5e6f, libcurl 7.88.1)`. The commit is known
    /// only in packages.
    static var text: String {
        let commit = larder_commit().map { String(cString: $0) } ?? "unknown commit"
        return "larder \(LarderVersion.current) (\(commit), libcurl \(CurlLibrary.version))"
    }
}

enum ProgramText {
    /// Frees the pages of code and constants. Pages that are used again cost a page fault. The pages
    /// for loading, startup and planning are not used again. The loader's are 8 MB of a run's 39 MB.
    ///
    /// Does nothing in a debug build, because a debugger writes breakpoints into these pages.
    static func release() {
        #if !DEBUG
            larder_release_text()
        #endif
    }
}
