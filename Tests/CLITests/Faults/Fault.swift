import Foundation

/// A failing system call on files below a cache.
struct Fault: CustomStringConvertible {
    /// The kinds of calls, by their names in the shim.
    enum Call: String {
        case write, pwrite, fsync, syncfs, rename, open, unlink, mkdir, link, truncate, read

        /// The calls that `Way.all` applies to.
        static let changes: [Call] = [
            .write, .pwrite, .fsync, .syncfs, .rename, .open, .unlink, .mkdir, .link, .truncate,
        ]
    }

    /// The error of the call.
    struct Way: CustomStringConvertible {
        let errno: Int32
        let name: String
        /// Whether all later calls fail too, as on a disk that stays full.
        let isLasting: Bool

        static let all = [
            Way(errno: ENOSPC, name: "ENOSPC", isLasting: false),
            Way(errno: EIO, name: "EIO", isLasting: false),
            Way(errno: EROFS, name: "EROFS", isLasting: false),
            Way(errno: EMFILE, name: "EMFILE", isLasting: false),
            Way(errno: ENOSPC, name: "ENOSPC", isLasting: true),
            Way(errno: EMFILE, name: "EMFILE", isLasting: true),
        ]

        var description: String { name + (isLasting ? " from then on" : "") }
    }

    let call: Call
    /// The place of the call among those below the cache. The first is 1.
    var number: Int
    let way: Way

    /// Returns the variables that the shim reads.
    ///
    /// - Parameter log: A file that the shim creates when the call fails. It contains the call's
    ///   path.
    func environment(_ shim: FaultShim, root: String, log: String) -> [String: String] {
        [
            "LD_PRELOAD": shim.preloaded, "LARDER_FAULT_ROOT": root, "LARDER_FAULT_LOG": log,
            "LARDER_FAULT_CALL": call.rawValue, "LARDER_FAULT_NTH": "\(number)",
            "LARDER_FAULT_TIMES": way.isLasting ? "0" : "1", "LARDER_FAULT_ERRNO": "\(way.errno)",
        ]
    }

    /// The permitted exit statuses, besides 0, of a command whose call on `path` failed.
    func statuses(at path: String) -> Set<Int32> {
        guard way.errno == EMFILE else { return [74] }
        // SQLite does not say why it could not open or write a file. If descriptors for other files
        // are left, larder reports a storage error.
        let mayBeSQLite = path.contains(".sqlite") || path.contains("/tmp/run-")
        return mayBeSQLite || way.isLasting ? [1, 74] : [1]
    }

    var description: String { "\(call) \(number): \(way)" }
}
