import Foundation
import LarderTestSupport

/// A named pipe in place of a process's standard error, so that a test can wait for its words.
final class ErrorPipe {
    private let path: String
    private let descriptor: Int32

    init(at path: String) throws {
        self.path = path
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        // Without waiting for who writes, because that one waits for a reader.
        descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        _ = fcntl(descriptor, F_SETFL, 0)
    }

    deinit { close(descriptor) }

    /// Starts the binary with its standard error in the pipe.
    func start(_ binary: LarderBinary, _ arguments: [String]) throws -> RunningProcess {
        try RunningProcess(
            "/bin/sh", ["-c", #"exec "$0" "$@" 2>"$ERRORS""#, binary.path] + arguments,
            environment: ProcessInfo.processInfo.environment.merging(["ERRORS": path]) { $1 })
    }

    /// Reads until `words` have come; false where the process ends without them.
    func wait(for words: String) -> Bool {
        // Before anybody has opened it for writing, reading would find its end.
        var first = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&first, 1, 60_000) < 0, errno == EINTR {}
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !String(decoding: text, as: UTF8.self).contains(words) {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return false }
            text += buffer.prefix(count)
        }
        return true
    }
}
