import Foundation
import LarderKit

/// Where text goes: results to standard output, everything else to standard error.
enum Console {
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// A message that a person should see, on one line.
    static func complain(_ message: String) { write("larder: \(message.sanitizedForTerminal)\n") }

    /// Text for standard error, as it is.
    static func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }

    /// Bytes for standard output, as they are.
    static func print(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Foundation.write(STDOUT_FILENO, rest.baseAddress, rest.count)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno != EINTR {
                    throw OutputFailure("write", "standard output", errno)
                }
            }
        }
    }

    /// Hands over what `print` holds back: a result that cannot be written is a failure.
    static func flush() throws {
        guard fflush(nil) != 0 else { return }
        // A reader that has left is none: `larder list | head` ends quietly.
        guard errno != EPIPE else { return }
        throw OutputFailure("write", "standard output", errno)
    }
}
