import Foundation

/// A process on a new terminal, such as an interactive shell. It is killed when this object is
/// released. Only one thread may use it.
public final class TerminalProcess {
    private let pid: Int32
    private let terminal: Int32
    private let command: String
    private var unread: [UInt8] = []
    private var hasEnded = false

    /// Starts `path` on a terminal with a number of columns. The child gets only the given
    /// environment.
    public init(
        _ path: String, _ arguments: [String], columns: Int = 80,
        environment: [String: String], directory: String
    ) throws {
        terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { throw OriginError("open /dev/ptmx") }
        let name = try Self.devicePath(of: terminal)
        var size = winsize()
        size.ws_col = UInt16(columns)
        size.ws_row = 24
        guard ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0 else { throw OriginError("TIOCSWINSZ") }
        command = ([path] + arguments).joined(separator: " ")
        var plan = try SpawnPlan()
        defer { plan.destroy() }
        try plan.setTerminal(name)
        try plan.setDirectory(directory)
        pid = try plan.spawn(path, [path] + arguments, environment.map { "\($0.key)=\($0.value)" })
    }

    deinit {
        if !hasEnded {
            kill(pid, SIGKILL)
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        }
        close(terminal)
    }

    /// Returns the path of the terminal device that the child opens.
    private static func devicePath(of terminal: Int32) throws -> String {
        #if canImport(Darwin)
            guard grantpt(terminal) == 0, unlockpt(terminal) == 0, let name = ptsname(terminal)
            else { throw OriginError("ptsname") }
            return String(cString: name)
        #else
            // TIOCSPTLCK and TIOCGPTN, because Swift's Glibc module lacks unlockpt, ptsname and
            // these macros.
            let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
            var isLocked: Int32 = 0
            var number: UInt32 = 0
            guard ioctl(terminal, setLock, &isLocked) == 0,
                ioctl(terminal, getNumber, &number) == 0
            else { throw OriginError("TIOCGPTN") }
            return "/dev/pts/\(number)"
        #endif
    }

    /// Types a text.
    public func type(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
            guard count > 0 else { throw OriginError("write to \(command)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads until the process has written `text`, and returns the output before it.
    ///
    /// - Throws: ``ProcessTimeout`` if the process ends first or is silent for two minutes.
    @discardableResult public func read(to text: String) throws -> String {
        let wanted = Array(text.utf8)
        while true {
            if let place = unread.firstRange(of: wanted) {
                defer { unread.removeSubrange(..<place.upperBound) }
                return String(decoding: unread[..<place.lowerBound], as: UTF8.self)
            }
            let more = try readSome()
            guard !more.isEmpty else {
                throw ProcessTimeout(
                    command: "\(command), of which \(text.debugDescription) was expected,",
                    seconds: 120, standardOutput: String(decoding: unread, as: UTF8.self),
                    standardError: "")
            }
            unread += more
        }
    }

    /// Waits for the end of the process. Returns its exit status and the output since the last
    /// call.
    public func finish() throws -> (status: Int32, text: String) {
        while case let more = try readSome(), !more.isEmpty { unread += more }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        hasEnded = true
        defer { unread = [] }
        let text = String(decoding: unread, as: UTF8.self).replacing("\r\n", with: "\n")
        return (status >> 8 & 0xFF, text)
    }

    /// Reads some output. Returns an empty array if the process has ended or is silent for two
    /// minutes.
    private func readSome() throws -> [UInt8] {
        var ready = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&ready, 1, 120_000)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return [] }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let read = bytes.withUnsafeMutableBytes {
                Foundation.read(terminal, $0.baseAddress, 4096)
            }
            // Linux fails with EIO once no process has the terminal open.
            return read > 0 ? Array(bytes[..<read]) : []
        }
    }
}
