import CLarderCommit
import LarderKit
import LarderTransfer

/// What `--version` prints.
enum ProgramVersion {
    /// The version, the commit that it was built from if it is packaged, and the libcurl that it
    /// runs with: `larder 0.2.0 (1a2b3c4d5e6f, libcurl 7.88.1)`.
    static var text: String {
        let commit = larder_commit().map { String(cString: $0) } ?? "unknown commit"
        return "larder \(LarderVersion.current) (\(commit), libcurl \(CurlLibrary.version))"
    }
}
