import Foundation

/// A system call beneath a cache that fails.
struct Fault: CustomStringConvertible {
    /// The kinds of calls, as the shim knows them.
    enum Call: String {
        case write, pwrite, fsync, syncfs, rename, open, unlink, mkdir, link, truncate, read

        /// All that may fail in every way.
        static let changes: [Call] = [
            .write, .pwrite, .fsync, .syncfs, .rename, .open, .unlink, .mkdir, .link, .truncate,
        ]
    }

    /// How it fails.
    struct Way: CustomStringConvertible {
        let errno: Int32
        let name: String
        /// Whether all that follow fail, too: a disk that stays full.
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
    /// The first beneath the cache is 1.
    var number: Int
    let way: Way

    /// What the shim needs to be told.
    ///
    /// - Parameter log: a file that is made when the fault is reached, and says where.
    func environment(_ shim: FaultShim, root: String, log: String) -> [String: String] {
        [
            "LD_PRELOAD": shim.preloaded, "LARDER_FAULT_ROOT": root, "LARDER_FAULT_LOG": log,
            "LARDER_FAULT_CALL": call.rawValue, "LARDER_FAULT_NTH": "\(number)",
            "LARDER_FAULT_TIMES": way.isLasting ? "0" : "1", "LARDER_FAULT_ERRNO": "\(way.errno)",
        ]
    }

    /// The statuses other than 0 that a command may end with when `path` met the fault.
    func statuses(at path: String) -> Set<Int32> {
        guard way.errno == EMFILE else { return [74] }
        // SQLite does not tell why it could not open or write a file of its own. While there are
        // descriptors for others, it was not for want of them.
        let mayBeSQLite = path.contains(".sqlite") || path.contains("/tmp/run-")
        return mayBeSQLite || way.isLasting ? [1, 74] : [1]
    }

    var description: String { "\(call) \(number): \(way)" }
}
