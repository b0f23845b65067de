/// A user's name and password, for basic authentication (RFC 7617).
///
/// Neither is shown by `print` or string interpolation.
public struct Credentials: Hashable, Sendable {
    /// The name; empty if only a password was given.
    public var user: String
    /// The password; empty if only a name was given.
    public var password: String

    /// Credentials as they are, without any encoding.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Whether there is neither name nor password.
    var isEmpty: Bool { user.isEmpty && password.isEmpty }
}

extension Credentials: CustomStringConvertible, CustomReflectable {
    /// `***`.
    public var description: String { "***" }

    /// Without children, so that `dump` shows none either.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
