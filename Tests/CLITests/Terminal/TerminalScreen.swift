import Foundation
import LarderTestSupport

/// A terminal in which a command runs: a window of tmux, which draws what it is told as any other
/// does.
final class TerminalScreen {
    /// Nil where it is not installed.
    static let tmux = ["/usr/bin/tmux", "/opt/homebrew/bin/tmux", "/usr/local/bin/tmux"]
        .first(where: FileManager.default.isExecutableFile)

    private struct Failure: Error, CustomStringConvertible { let description: String }

    private let program: String
    private let socket: String
    private let output: FileHandle
    private var seen: [UInt8] = []
    /// All that was written to it so far.
    private var written: [UInt8] = []

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - command: the path and the arguments.
    ///   - environment: what is set besides the tests' own environment. By default, nothing says
    ///     whether colours are wanted.
    init(
        _ command: [String], columns: Int, rows: Int = 24, in directory: TemporaryDirectory,
        environment: [String: String] = [:]
    ) throws {
        program = try Self.tmux.orThrow(Failure(description: "there is no tmux"))
        // A socket's path has at most 107 bytes.
        socket = directory.path("tmux")
        let (start, pipe) = (directory.path("start"), directory.path("screen"))
        for fifo in [start, pipe] where mkfifo(fifo, 0o600) != 0 {
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        // Without waiting for who writes, because that one waits for a reader.
        let descriptor = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        _ = fcntl(descriptor, F_SETFL, 0)
        output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let variables = ["NO_COLOR=1"] + environment.map { "\($0)=\($1)" }
        // It begins when somebody hears it, and its last words stay until they were read. `^C` is
        // for the command alone.
        let script = """
            trap : INT; cat '\(start)' >/dev/null; unset TMUX; env "$@"; printf '\\n[status %s]' $?; \
            cat '\(start)' >/dev/null
            """
        try tmux(
            ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"]
                + ["sh", "-c", script, "sh"] + variables + command)
        try tmux(["set-option", "-g", "status", "off"])
        try tmux(["set-option", "-g", "window-size", "manual"])
        try resize(columns: columns, rows: rows)
        try tmux(["pipe-pane", "-O", "exec cat >'\(pipe)'"])
        var first = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Nobody waits for this end: the shell opens its own.
        let begin = open(start, O_WRONLY | O_CLOEXEC)
        close(begin)
        while poll(&first, 1, 120_000) < 0, errno == EINTR {}
    }

    deinit { _ = try? tmux(["kill-server"]) }

    /// Changes its size.
    func resize(columns: Int, rows: Int = 24) throws {
        try tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
    }

    /// Types a key, such as `C-c`.
    func type(_ key: String) throws { try tmux(["send-keys", key]) }

    /// Whether a text was written to it so far.
    func hasWritten(_ text: String) -> Bool { written.firstRange(of: Array(text.utf8)) != nil }

    /// Returns once `words` were written to it, from where the last call has left off.
    func wait(for words: String) throws {
        let wanted = Array(words.utf8)
        let deadline = ContinuousClock.now + .seconds(240)
        while true {
            if let place = seen.firstRange(of: wanted) {
                seen.removeSubrange(..<place.upperBound)
                return
            }
            var ready = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard ContinuousClock.now < deadline, poll(&ready, 1, 60_000) != 0 else {
                throw Failure(
                    description: "\(words.debugDescription) did not come; there is "
                        + (try lines().joined(separator: "\n")))
            }
            let more = output.availableData
            guard !more.isEmpty else {
                throw Failure(
                    description: "it ended without \(words.debugDescription); the last were "
                        + String(decoding: seen.suffix(2000), as: UTF8.self).debugDescription)
            }
            seen += more
            written += more
        }
    }

    /// Waits for the command's end.
    ///
    /// - Parameter withHistory: as of ``lines(joined:withHistory:)``.
    /// - Returns: its status, and all that it has left on the screen and above, without blank lines
    ///   at the end. Lines that were broken at the right edge are whole again.
    func finish(withHistory: Bool = true) throws -> (status: Int, lines: [String]) {
        try wait(for: "\n[status ")
        var lines = try lines(joined: true, withHistory: withHistory)
        let last = lines.removeLast()
        guard last.hasPrefix("[status "), let status = Int(last.dropFirst(8).dropLast()) else {
            throw Failure(description: "the last line is \(last)")
        }
        while lines.last == "" { lines.removeLast() }
        return (status, lines)
    }

    /// What is on the screen, and above it.
    ///
    /// - Parameters:
    ///   - joined: whether lines that were broken at the right edge are whole again.
    ///   - withHistory: whether what is above it counts, too: if it became narrower, tmux itself
    ///     puts parts of broken lines there.
    func lines(joined: Bool = false, withHistory: Bool = true) throws -> [String] {
        let text = try tmux(
            ["capture-pane", "-p"] + (joined ? ["-J"] : []) + (withHistory ? ["-S", "-"] : []))
        var lines = text.components(separatedBy: "\n").map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    @discardableResult private func tmux(_ arguments: [String]) throws -> String {
        let finished = try RunningProcess(
            program, ["-u", "-f", "/dev/null", "-S", socket] + arguments,
            environment: ProcessInfo.processInfo.environment.merging([
                "LC_ALL": "C.UTF-8", "TERM": "xterm",
            ]) { $1 }
        ).wait()
        guard finished.status == 0 else { throw Failure(description: "\(arguments): \(finished)") }
        return finished.standardOutput
    }
}

extension Optional {
    fileprivate func orThrow(_ error: some Error) throws -> Wrapped {
        guard let self else { throw error }
        return self
    }
}
