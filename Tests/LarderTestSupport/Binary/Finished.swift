import Foundation

/// What a process left behind.
public struct Finished: Sendable, CustomStringConvertible {
    /// The exit status, or the negative number of the signal that ended it.
    public let status: Int32
    /// Standard output as it was written.
    public let standardOutputBytes: Data
    /// Standard error as it was written.
    public let standardErrorBytes: Data
    /// The most memory it had resident. On Linux read every 10 ms where it cannot be told from
    /// this process's own (`exec` inherits that); nil where it ended too soon.
    public let peakMemoryBytes: Int?
    /// From its start to its end.
    public let duration: Duration

    /// Standard output as text.
    public var standardOutput: String { String(decoding: standardOutputBytes, as: UTF8.self) }
    /// Standard error as text.
    public var standardError: String { String(decoding: standardErrorBytes, as: UTF8.self) }

    /// Status and both outputs, as a failed expectation shows them.
    public var description: String {
        "status \(status)\nstandard output:\n\(standardOutput)\nstandard error:\n\(standardError)"
    }
}

/// A process that did not end in time, and was killed.
public struct ProcessTimeout: Error, Sendable, CustomStringConvertible {
    let command: String
    let seconds: Double
    let standardOutput: String
    let standardError: String

    /// The command and what it had written until then.
    public var description: String {
        """
        \(command) did not end within \(seconds) s
        standard output:\n\(standardOutput)
        standard error:\n\(standardError)
        """
    }
}
