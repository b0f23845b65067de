import Foundation

/// How many descriptors the process may have.
enum OpenFileLimit {
    static var current: Int {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 256 }
        return Int(clamping: limit.rlim_cur)
    }
}
