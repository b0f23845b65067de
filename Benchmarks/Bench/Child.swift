#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Child processes, measured with the kernel's accounting.
enum Child {
    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Runs a shell command. Its output goes to standard error.
    static func run(_ command: String) throws -> (status: Int32, usage: Usage) {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        var arguments: [UnsafeMutablePointer<CChar>?] =
            [strdup("sh"), strdup("-c"), strdup(command), nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let start = ContinuousClock.now
        let failed = posix_spawn(&process, "/bin/sh", &actions, nil, &arguments, environ)
        guard failed == 0 else {
            throw Failure(description: "cannot start sh: \(String(cString: strerror(failed)))")
        }
        var status: Int32 = 0
        var usage = rusage()
        while wait4(process, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw Failure(description: "wait4: \(errno)") }
        }
        let wall = ContinuousClock.now - start
        #if canImport(Darwin)
            let unit = 1.0
        #else
            let unit = 1024.0
        #endif
        return (
            status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F,
            Usage(
                wall: wall / .seconds(1), user: seconds(usage.ru_utime),
                system: seconds(usage.ru_stime), peak: Double(usage.ru_maxrss) * unit)
        )
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}
