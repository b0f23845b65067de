import Foundation

enum Terminal {
    static let isThere = isatty(STDERR_FILENO) == 1

    static let isDumb = ["", "dumb"].contains(environment("TERM") ?? "")

    static var isInForeground: Bool {
        let foreground = tcgetpgrp(STDERR_FILENO)
        // If the terminal belongs to another session, its foreground group is unknown.
        return foreground <= 0 || foreground == getpgrp()
    }

    static var columns: Int { columns(of: STDERR_FILENO) ?? saidColumns ?? 80 }

    static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    static var saidColumns: Int? {
        environment("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? min($0, 1000) : nil }
    }

    static func textWidth(of descriptor: Int32) -> Int {
        min(saidColumns ?? columns(of: descriptor) ?? 80, 100)
    }

    /// Whether `--color auto` colours text (https://no-color.org, https://bixense.com/clicolors).
    static func wantsColor(_ isTerminal: Bool) -> Bool {
        func isSet(_ name: String) -> Bool { !(environment(name) ?? "").isEmpty }
        if isSet("NO_COLOR") { return false }
        if isSet("CLICOLOR_FORCE"), environment("CLICOLOR_FORCE") != "0" { return true }
        return isTerminal && !isDumb && environment("CLICOLOR") != "0"
    }

    /// Does not use `ProcessInfo`, which copies all variables at each call.
    static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

enum StandardStreams {
    /// If a stream stayed closed (`larder … 2>&-`), the next opened file would get its messages.
    static func ensureOpen() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // open(2) returns the closed stream's number. The opposite mode makes its use fail.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// In `body`, a write to a closed pipe fails without ending the process.
    static func withoutBrokenPipes(_ body: () -> Void) {
        var pipe = sigset_t()
        var former = sigset_t()
        var pending = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipe, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        body()
        // Takes a pending SIGPIPE, because restoring the mask would deliver it.
        sigpending(&pending)
        var taken: Int32 = 0
        if !wasPending, sigismember(&pending, SIGPIPE) == 1 { sigwait(&pipe, &taken) }
    }

    /// The text is lost if a write fails, or if the reader reads nothing for a second.
    static func write(_ text: String) {
        withoutBrokenPipes {
            _ = Array(text.utf8).withUnsafeBytes { send($0, to: STDERR_FILENO, patience: 1_000) }
        }
    }

    /// `patience` is the maximum wait before each write in milliseconds, or -1 for no limit.
    static func send(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, patience: Int32
    ) -> (sent: Int, failure: Int32?) {
        var sent = 0
        while sent < bytes.count {
            var rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
            if patience >= 0 {
                if let failure = wait(for: descriptor, patience) { return (sent, failure) }
                // A pipe that is ready takes PIPE_BUF bytes without blocking. The streams stay in
                // blocking mode, because other processes share them.
                rest = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(PIPE_BUF)))
            }
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN {
                if let failure = wait(for: descriptor, patience) { return (sent, failure) }
            } else if errno != EINTR {
                return (sent, errno)
            }
        }
        return (sent, nil)
    }

    private static func wait(for descriptor: Int32, _ patience: Int32) -> Int32? {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let count = poll(&ready, 1, patience)
            if count > 0 { return nil }
            if count == 0 { return EAGAIN }
            if errno != EINTR { return errno }
        }
    }
}

extension String {
    /// Indents continuation lines by `hanging` columns, unless the longest word needs the space.
    func wrapped(to width: Int, hanging: Int) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            guard line.columns > width else { return String(line) }
            let words: [Substring] = line.split(separator: " ")
            let room = max(0, width - (words.map(\.columns).max() ?? 0))
            let own = line.prefix { $0 == " " }.count
            var lines: [String] = []
            for word in words {
                if let last = lines.last, last.columns + 1 + word.columns <= width {
                    lines[lines.count - 1] = "\(last) \(word)"
                } else {
                    let indent = min(room, lines.isEmpty ? own : own + hanging)
                    lines.append(String(repeating: " ", count: indent) + String(word))
                }
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
