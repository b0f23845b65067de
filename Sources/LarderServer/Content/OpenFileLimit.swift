import Foundation
import LarderCache

package enum OpenFileLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif
    private static let reserve = 48

    static var current: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 256 }
        return Int(clamping: limit.rlim_cur)
    }

    /// The maximum number of connections. Each needs one descriptor, and a second one while it
    /// sends a file. A quarter of the limit is for files that are kept open.
    static var connections: Int { max(1, (current - current / 4 - reserve) / 2) }

    package static func free(upTo count: Int) -> Int {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        while taken.count < count, case let descriptor = dup(STDERR_FILENO), descriptor >= 0 {
            taken.append(descriptor)
        }
        return taken.count
    }

    /// Throws if fewer than `count` descriptors are free. NIO traps if an event loop gets none.
    static func require(_ count: Int, for cache: String) throws(CacheError) {
        let missing = count - free(upTo: count)
        guard missing > 0 else { return }
        throw CacheError(
            .unusable, subject: cache,
            message: """
                the limit on open files (ulimit -n) is \(current); the server needs \(missing) more
                """)
    }

    package static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
