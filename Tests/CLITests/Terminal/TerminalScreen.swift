import Foundation
import LarderTestSupport

/// A terminal that runs a command: a tmux window, which interprets output as other terminals do.
final class TerminalScreen {
    /// The path of tmux, or nil if it is not installed.
    static let tmux = ["/usr/bin/tmux", "/opt/homebrew/bin/tmux", "/usr/local/bin/tmux"]
        .first(where: FileManager.default.isExecutableFile)

    private struct Failure: Error, CustomStringConvertible { let description: String }

    private let program: String
    private let socket: String
    private let output: FileHandle
    /// The output that `wait(for:)` has not passed yet.
    private var unread: [UInt8] = []
    /// All output so far.
    private var written: [UInt8] = []

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - command: The path and the arguments.
    ///   - environment: Variables to set in addition to the tests' environment and `NO_COLOR`.
    init(
        _ command: [String], columns: Int, rows: Int = 24, in directory: TemporaryDirectory,
        environment: [String: String] = [:]
    ) throws {
        program = try Self.tmux.orThrow(Failure(description: "tmux is not installed"))
        // A socket path is limited to 107 bytes.
        socket = directory.path("tmux")
        let (start, pipe) = (directory.path("start"), directory.path("screen"))
        for fifo in [start, pipe] where mkfifo(fifo, 0o600) != 0 {
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        // Opening must not block, because the writer waits for a reader.
        let descriptor = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        _ = fcntl(descriptor, F_SETFL, 0)
        output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let variables = ["NO_COLOR=1"] + environment.map { "\($0)=\($1)" }
        // The command starts once its output can be read. The window stays open afterwards, so that
        // the last output can be read. The trap leaves `^C` to the command.
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
        // The shell's `cat` returns once this end is closed.
        let begin = open(start, O_WRONLY | O_CLOEXEC)
        close(begin)
        while poll(&first, 1, 120_000) < 0, errno == EINTR {}
    }

    deinit { _ = try? tmux(["kill-server"]) }

    func resize(columns: Int, rows: Int = 24) throws {
        try tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
    }

    /// Types a key, for example `C-c`.
    func type(_ key: String) throws { try tmux(["send-keys", key]) }

    func hasWritten(_ text: String) -> Bool { written.firstRange(of: Array(text.utf8)) != nil }

    /// Returns once the command has written `text` after the text of the last call.
    func wait(for text: String) throws {
        let wanted = Array(text.utf8)
        let deadline = ContinuousClock.now + .seconds(240)
        while true {
            if let place = unread.firstRange(of: wanted) {
                unread.removeSubrange(..<place.upperBound)
                return
            }
            var ready = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard ContinuousClock.now < deadline, poll(&ready, 1, 60_000) != 0 else {
                throw Failure(
                    description: "\(text.debugDescription) was not written; the screen shows "
                        + (try lines().joined(separator: "\n")))
            }
            let more = output.availableData
            guard !more.isEmpty else {
                throw Failure(
                    description: "the output ended without \(text.debugDescription); its end is "
                        + String(decoding: unread.suffix(2000), as: UTF8.self).debugDescription)
            }
            unread += more
            written += more
        }
    }

    /// Waits for the command to end.
    ///
    /// - Parameter withHistory: See ``lines(joined:withHistory:)``.
    /// - Returns: The exit status, and the lines on the screen without blank lines at the end.
    ///   Lines that were broken at the right edge are joined.
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

    /// Returns the lines on the screen and the history above it.
    ///
    /// - Parameters:
    ///   - joined: Whether to join lines that were broken at the right edge.
    ///   - withHistory: Whether to include the lines above the screen. After the screen becomes
    ///     narrower, tmux itself moves parts of broken lines there.
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
