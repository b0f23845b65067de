import Foundation
import LarderCache

/// A process in its own process group, with files as standard streams.
///
/// Files need no thread that copies, and the limit of file sizes also limits the output.
enum LimitedProcess {
    /// The time between two looks at a process, in microseconds. A resize takes at least 30 ms.
    /// Waiting for a process with a time limit would need pidfd_open(2), since Linux 5.3.
    private static let pause: UInt32 = 2000

    /// Runs a program to its end, and returns its output. Throws ``ResizeError`` if the program
    /// fails or takes too long, `CancellationError` if cancelled.
    ///
    /// - Parameters:
    ///   - arguments: The absolute path of the program, and its arguments.
    ///   - input: A file, which the program reads from the start.
    static func run(
        _ arguments: [String], environment: [String], input: FileDescriptor?, seconds: Int,
        unless isCancelled: () -> Bool
    ) throws -> FileDescriptor {
        let (output, errors) = (try FileDescriptor.unnamed(), try FileDescriptor.unnamed())
        let input = try input ?? .open("/dev/null", flags: O_RDONLY)
        lseek(input.raw, 0, SEEK_SET)
        let pid = try start(arguments, environment, streams: [input, output, errors])
        let deadline = ContinuousClock.now + .seconds(seconds)
        var information = siginfo_t()
        var (isLate, isUnwanted) = (false, false)
        while !isLate, !isUnwanted,
            waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0,
            information.si_signo != SIGCHLD
        {
            usleep(pause)
            (isLate, isUnwanted) = (deadline < .now, isCancelled())
        }
        // Also ends the processes that the program has started. The process is a zombie until
        // waitpid(2), so no other process group can have its number.
        kill(-pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        if isUnwanted { throw CancellationError() }
        if isLate { throw ResizeError("vipsthumbnail did not end within \(seconds) s") }
        let signal = status & 0x7F
        guard signal == 0 else {
            throw ResizeError(
                "vipsthumbnail was ended by signal \(signal) "
                    + "(\(String(cString: strsignal(signal))))")
        }
        guard status == 0 else {
            let lines = try errors.read(at: 0, atMost: 16 << 10).split(
                separator: UInt8(ascii: "\n"))
            let complaint = lines.last.map {
                ": " + String(decoding: $0.prefix(200), as: UTF8.self)
            }
            throw ResizeError("vipsthumbnail ended with status \(status >> 8)\(complaint ?? "")")
        }
        return output
    }

    private static func start(
        _ arguments: [String], _ environment: [String], streams: [FileDescriptor]
    ) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
            let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
            let flags = Int32(
                POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGUSR1] {
            sigaddset(&signals, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        for (number, file) in streams.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, file.raw, Int32(number))
        }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, arguments[0], &actions, &attributes, &words, &variables)
        guard code == 0 else { throw CacheError("run", subject: arguments[0], errno: code) }
        return pid
    }
}
