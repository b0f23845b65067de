/// A server that did not do what a test needs of it.
public struct ServerFailure: Error, CustomStringConvertible {
    let name: String
    let message: String

    /// What, and why.
    public var description: String { "\(name): \(message)" }
}
