import Foundation
import LarderKit

/// Where text goes: results to standard output, everything else to standard error.
enum Console {
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// A message that a person should see, on one line.
    static func complain(_ message: String) { write("larder: \(message.sanitizedForTerminal)\n") }

    /// Text for standard error, as it is. What cannot be written there is lost, and nothing else
    /// is: nobody reads it, its disk is full, or its reader has taken none of it for a second.
    static func write(_ text: String) {
        StandardStreams.withoutBrokenPipes {
            _ = Array(text.utf8).withUnsafeBytes { send($0, to: STDERR_FILENO, patience: 1_000) }
        }
    }

    /// Bytes for standard output, as they are.
    static func print(_ bytes: [UInt8]) throws {
        let failure = bytes.withUnsafeBytes { send($0, to: STDOUT_FILENO, patience: -1) }
        if let failure { throw OutputFailure("write", "standard output", failure) }
    }

    /// Writes all of `bytes`; the error number if that fails.
    ///
    /// - Parameter patience: how many milliseconds to wait for a reader if the descriptor does
    ///   not wait by itself; -1 waits without limit.
    private static func send(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, patience: Int32
    ) -> Int32? {
        var rest = bytes
        while !rest.isEmpty {
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                let count = poll(&ready, 1, patience)
                if count == 0 { return EAGAIN }
                if count < 0, errno != EINTR { return errno }
            case let number: return number
            }
        }
        return nil
    }

    /// Hands over what `print` holds back: a result that cannot be written is a failure.
    static func flush() throws {
        guard fflush(nil) != 0 else { return }
        // A reader that has left is none: `larder list | head` ends quietly.
        guard errno != EPIPE else { return }
        throw OutputFailure("write", "standard output", errno)
    }
}
