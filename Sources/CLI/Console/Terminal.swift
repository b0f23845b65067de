import Foundation

/// The terminal that messages go to.
enum Terminal {
    static let isThere = isatty(STDERR_FILENO) == 1

    /// Whether it has no control sequences, or `$TERM` does not say which.
    static let isDumb = ["", "dumb"].contains(environment("TERM") ?? "")

    /// Whether the program may draw on it now. In the background, a shell's prompt is there.
    static var isInForeground: Bool {
        let foreground = tcgetpgrp(STDERR_FILENO)
        // A terminal of another session has no known group.
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
        // Longer lines are hard to read.
        min(saidColumns ?? columns(of: descriptor) ?? 80, 100)
    }

    /// Whether to colour text without `--color`: https://no-color.org and
    /// https://bixense.com/clicolors.
    static func wantsColor(_ isTerminal: Bool) -> Bool {
        func isSet(_ name: String) -> Bool { !(environment(name) ?? "").isEmpty }
        if isSet("NO_COLOR") { return false }
        if isSet("CLICOLOR_FORCE"), environment("CLICOLOR_FORCE") != "0" { return true }
        return isTerminal && !isDumb && environment("CLICOLOR") != "0"
    }

    static func environment(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }
}

enum StandardStreams {
    /// Opens /dev/null for streams that are closed (`larder … 2>&-`): otherwise the next file to be
    /// opened would get their number, and messages would be written into it.
    static func ensureOpen() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // open(2) returns the lowest free number, which is this one. In the other direction, so
            // that every use of it fails, as with a closed one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Runs `body` so that a write to a closed pipe is an error, and does not end the program as it
    /// does for results (`larder list | head`).
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
        // The signal is pending for this thread, and would arrive with the former mask.
        sigpending(&pending)
        var taken: Int32 = 0
        if !wasPending, sigismember(&pending, SIGPIPE) == 1 { sigwait(&pipe, &taken) }
    }

    /// Writes text to standard error, as it is. Text is lost without a reader, on a full disk, or
    /// if the reader takes nothing for a second.
    static func write(_ text: String) {
        withoutBrokenPipes {
            _ = Array(text.utf8).withUnsafeBytes { send($0, to: STDERR_FILENO, patience: 1_000) }
        }
    }

    /// Writes all of `bytes`.
    ///
    /// - Parameter patience: Milliseconds to wait for a reader each time that it takes nothing. -1
    ///   waits without limit.
    /// - Returns: The number of bytes written, and the error number if that is not all.
    static func send(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, patience: Int32
    ) -> (sent: Int, failure: Int32?) {
        var sent = 0
        while sent < bytes.count {
            var rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
            if patience >= 0 {
                if let failure = wait(for: descriptor, patience) { return (sent, failure) }
                // A ready pipe takes this much at once, even if its writes block. The standard
                // streams block, because other processes share them.
                rest = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(PIPE_BUF)))
            }
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                sent += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                if let failure = wait(for: descriptor, patience) { return (sent, failure) }
            case let number: return (sent, number)
            }
        }
        return (sent, nil)
    }

    /// Waits until a write can proceed or fail. Returns an error number after too long a time.
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
    /// The text with its long lines broken between words. Each part of a line keeps the
    /// indentation of that line, if its longest word leaves room for it.
    ///
    /// - Parameter hanging: The number of blanks by which to indent continued lines further.
    func wrapped(to width: Int, hanging: Int) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            guard line.count > width else { return String(line) }
            let words: [Substring] = line.split(separator: " ")
            let room = max(0, width - (words.map(\.count).max() ?? 0))
            let own = line.prefix { $0 == " " }.count
            var lines: [String] = []
            for word in words {
                if let last = lines.last, last.count + 1 + word.count <= width {
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
