import Foundation

/// Descriptors for files.
enum OpenFiles {
    /// libdispatch takes some on threads of its own, each when its time comes, and traps (SIGILL)
    /// if there is none; with the others no cache can be opened.
    private static let least = 13

    /// Leaves if there are too few for anything at all.
    static func requireSome() {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<least {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else {
                Console.complain("the limit on open files is too low (ulimit -n)")
                _exit(1)
            }
            taken.append(descriptor)
        }
    }

    /// Permits as many as the system does: a client's connection takes one, and a file on its way
    /// to it another.
    static func allowMany() {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
