/// A failure of a server that a test depends on.
public struct ServerFailure: Error, CustomStringConvertible {
    let name: String
    let message: String

    /// The server or operation, and the reason.
    public var description: String { "\(name): \(message)" }
}
