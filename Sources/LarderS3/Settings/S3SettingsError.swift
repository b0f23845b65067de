/// Why the settings of a remote cannot be used.
public struct S3SettingsError: Error, Sendable, CustomStringConvertible {
    /// The reason.
    public let description: String

    init(_ description: String) { self.description = description }
}
