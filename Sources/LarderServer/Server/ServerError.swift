/// Why a server cannot be started.
public struct ServerError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The server cannot listen on the address.
        case address
    }

    /// The kind of failure.
    public let code: Code
    /// What it is about: the address.
    public let subject: String
    /// What happened, in words.
    public let message: String

    /// `subject: message`.
    public var description: String { "\(subject): \(message)" }
}
