import Foundation
import LarderKit

/// Where text goes: results to standard output, everything else to standard error.
enum Console {
    /// What stays below all messages on a terminal.
    static let statusLine = StatusLine()

    /// A message that a person should see, on one line.
    static func complain(_ message: String) { write("larder: \(message.sanitizedForTerminal)\n") }

    /// Whole lines for standard error, as they are.
    static func write(_ text: String) { statusLine.around { StandardStreams.write(text) } }

    /// Bytes for standard output, as they are.
    static func print(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try print($0) } }

    /// The same.
    static func print(_ bytes: UnsafeRawBufferPointer) throws {
        let failure = StandardStreams.send(bytes, to: STDOUT_FILENO, patience: -1)
        if let failure { throw OutputFailure("write", "standard output", failure) }
    }

    /// Hands over what `print` holds back: a result that cannot be written is a failure.
    static func flush() throws {
        guard fflush(nil) != 0 else { return }
        // A reader that has left is none: `larder list | head` ends quietly.
        guard errno != EPIPE else { return }
        throw OutputFailure("write", "standard output", errno)
    }
}
