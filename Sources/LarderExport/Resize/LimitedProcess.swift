import Foundation
import LarderCache

/// A process in its own process group, with files as standard streams.
///
/// Files need no thread that copies, and the limit of file sizes also limits the output.
final class LimitedProcess {
    enum End: Equatable {
        case exited(Int32)
        case signalled(Int32)
        case timedOut
    }

    /// The time between two looks at a process, in microseconds. A resize takes at least 30 ms.
    /// Waiting for several processes with a time limit would need pidfd_open(2), since Linux 5.3.
    static let pause: UInt32 = 2000

    let output: FileDescriptor
    private let errors: FileDescriptor
    private let pid: pid_t
    private let deadline: ContinuousClock.Instant
    private var isReaped = false

    /// `arguments` begin with the absolute path of the program.
    init(
        _ arguments: [String], environment: [String], input: FileDescriptor?, seconds: Int
    ) throws {
        output = try .unnamed()
        errors = try .unnamed()
        let input = try input ?? .open("/dev/null", flags: O_RDONLY)
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
        for (number, file) in [input, output, errors].enumerated() {
            posix_spawn_file_actions_adddup2(&actions, file.raw, Int32(number))
        }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, arguments[0], &actions, &attributes, &words, &variables)
        guard code == 0 else { throw CacheError("run", subject: arguments[0], errno: code) }
        self.pid = pid
        deadline = .now + .seconds(seconds)
    }

    deinit { if !isReaped { reap() } }

    /// Ends the process and the processes that it has started. The process is a zombie until then,
    /// so no other process group can have its number.
    @discardableResult
    private func reap() -> Int32 {
        kill(-pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        isReaped = true
        return status
    }

    /// Returns nil if the process is running. Ends it after its time.
    func end() -> End? {
        var information = siginfo_t()
        let found = waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT)
        guard found == 0, information.si_signo == SIGCHLD else {
            guard deadline < .now else { return nil }
            reap()
            return .timedOut
        }
        let status = reap()
        let signal = status & 0x7F
        return signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
    }

    func wait() -> End {
        while true {
            if let end = end() { return end }
            usleep(Self.pause)
        }
    }

    /// Returns the last line on standard error after a colon, or "", for a message.
    func complaint() throws -> String {
        let bytes = try errors.read(at: 0, atMost: 16 << 10)
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        return lines.last.map { ": " + String(decoding: $0.prefix(200), as: UTF8.self) } ?? ""
    }

    /// Returns nil if the output is longer.
    func bytes(atMost limit: Int) throws -> [UInt8]? {
        let size = try output.status().st_size
        return size <= limit ? try output.read(at: 0, atMost: Int(size)) : nil
    }
}
