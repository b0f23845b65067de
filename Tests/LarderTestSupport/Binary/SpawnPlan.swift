import Foundation

/// The attributes and file actions of one `posix_spawn`.
struct SpawnPlan {
    #if canImport(Darwin)
        private var actions: posix_spawn_file_actions_t?
        private var attributes: posix_spawnattr_t?
        private static let flags =
            POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT
        private static let newSession = POSIX_SPAWN_SETSID
    #else
        private var actions = posix_spawn_file_actions_t()
        private var attributes = posix_spawnattr_t()
        private static let flags = Int32(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        // POSIX_SPAWN_SETSID, which spawn.h declares only with _GNU_SOURCE.
        private static let newSession: Int32 = 0x80
    #endif

    init() throws {
        try check(posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init")
        try check(posix_spawnattr_init(&attributes), "posix_spawnattr_init")
        // The test runner's threads block signals, and the runner may ignore SIGPIPE. A child that
        // inherits these settings would not receive interrupts.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(Self.flags))
    }

    mutating func destroy() {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
    }

    mutating func setStandardStreams(_ descriptors: [Int32]) throws {
        for (number, descriptor) in descriptors.enumerated() {
            try check(
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number)),
                "posix_spawn_file_actions_adddup2")
        }
        #if canImport(Glibc)
            // Descriptors of other code may not be close-on-exec. Darwin has a flag for this.
            typealias Function =
                @convention(c) (
                    UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32
                ) -> Int32
            let name = "posix_spawn_file_actions_addclosefrom_np"
            try check(try gnu(name, as: Function.self)(&actions, 3), name)
        #endif
    }

    /// Makes a terminal the controlling terminal and the standard streams of the process.
    mutating func setTerminal(_ path: String) throws {
        posix_spawnattr_setflags(&attributes, Int16(Self.flags | Self.newSession))
        // The first terminal that a session leader opens becomes its controlling terminal.
        try check(
            posix_spawn_file_actions_addopen(&actions, 0, path, O_RDWR, 0),
            "posix_spawn_file_actions_addopen")
        try setStandardStreams([0, 0, 0])
    }

    mutating func setDirectory(_ path: String) throws {
        let name = "posix_spawn_file_actions_addchdir_np"
        #if canImport(Glibc)
            typealias Function =
                @convention(c) (
                    UnsafeMutablePointer<posix_spawn_file_actions_t>, UnsafePointer<CChar>
                ) -> Int32
            try check(try gnu(name, as: Function.self)(&actions, path), name)
        #else
            try check(posix_spawn_file_actions_addchdir_np(&actions, path), name)
        #endif
    }

    mutating func spawn(
        _ path: String, _ arguments: [String], _ environment: [String]
    ) throws -> Int32 {
        // The child must not read the configuration file of the developer.
        let variable = "LARDER_CONFIG_PATH="
        let inherited = getenv("LARDER_CONFIG_PATH").map { variable + String(cString: $0) }
        var environment = environment.filter { $0 != inherited }
        if !environment.contains(where: { $0.hasPrefix(variable) }) { environment.append(variable) }
        var arguments: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for string in arguments + variables { free(string) } }
        var pid: Int32 = 0
        try check(
            posix_spawn(&pid, path, &actions, &attributes, &arguments, &variables), "run \(path)")
        return pid
    }

    private func check(_ code: Int32, _ operation: String) throws {
        guard code == 0 else { throw OriginError(operation, code: code) }
    }

    #if canImport(Glibc)
        /// Returns a function that Glibc declares only with `_GNU_SOURCE`, so that Swift does not
        /// see it.
        private func gnu<Function>(_ name: String, as type: Function.Type) throws -> Function {
            guard let symbol = dlsym(nil, name) else { throw OriginError(name, code: ENOSYS) }
            return unsafeBitCast(symbol, to: type)
        }
    #endif
}
