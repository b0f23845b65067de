import Foundation
import LarderTestSupport

/// A named pipe for a process's standard error, so that a test can wait for a message.
final class ErrorPipe {
    private let path: String
    private let descriptor: Int32

    init(at path: String) throws {
        self.path = path
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        // Opening must not block, because the writer waits for a reader.
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

    /// Reads until `message` has come. Returns false if the process ends before it.
    func wait(for message: String) -> Bool {
        // Before the process opens the pipe, a read would return the end of the file.
        var first = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&first, 1, 60_000) < 0, errno == EINTR {}
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !String(decoding: text, as: UTF8.self).contains(message) {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return false }
            text += buffer.prefix(count)
        }
        return true
    }
}
