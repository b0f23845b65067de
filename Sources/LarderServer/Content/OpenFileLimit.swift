import Foundation
import LarderCache

/// How many descriptors the process may have.
public enum OpenFileLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif
    /// What is open besides connections and the files that they are sent, with room to spare.
    private static let reserve = 48

    /// The limit.
    static var current: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 256 }
        return Int(clamping: limit.rlim_cur)
    }

    /// How many connections fit beneath it: each takes one, and another while a file is on its way.
    /// A quarter is for files that are held open.
    static var connections: Int { max(1, (current - current / 4 - reserve) / 2) }

    /// Confirms that `count` descriptors are free. NIO traps if an event loop gets none.
    ///
    /// - Throws: `CacheError` `.unusable`, which names the limit.
    static func require(_ count: Int, for cache: String) throws(CacheError) {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        while taken.count < count {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else {
                throw CacheError(
                    .unusable, subject: cache,
                    message: """
                        the limit on open files (ulimit -n), \(current), is too low to serve: \
                        \(count - taken.count) more are needed
                        """)
            }
            taken.append(descriptor)
        }
    }

    /// Permits as many as the system does.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
