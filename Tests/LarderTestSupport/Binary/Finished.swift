import Foundation

/// The result of a process.
public struct Finished: Sendable, CustomStringConvertible {
    /// The exit status, or the negated number of the signal that ended the process.
    public let status: Int32
    /// The bytes of standard output.
    public let standardOutputBytes: Data
    /// The bytes of standard error.
    public let standardErrorBytes: Data
    /// The peak resident memory; nil if the process ended before it was measured.
    ///
    /// On Linux, `exec` inherits the peak of the calling process. If the child's peak is lower,
    /// this is the largest value sampled every 10 ms.
    public let peakMemoryBytes: Int?
    /// The time from start to end.
    public let duration: Duration

    /// Standard output as text.
    public var standardOutput: String { String(decoding: standardOutputBytes, as: UTF8.self) }
    /// Standard error as text.
    public var standardError: String { String(decoding: standardErrorBytes, as: UTF8.self) }

    /// The status and both outputs, for failed expectations.
    public var description: String {
        "status \(status)\nstandard output:\n\(standardOutput)\nstandard error:\n\(standardError)"
    }
}

/// A process that was killed because it did not end in time.
public struct ProcessTimeout: Error, Sendable, CustomStringConvertible {
    let command: String
    let seconds: Double
    let standardOutput: String
    let standardError: String

    /// The command and its output until then.
    public var description: String {
        """
        \(command) did not end within \(seconds) s
        standard output:\n\(standardOutput)
        standard error:\n\(standardError)
        """
    }
}
