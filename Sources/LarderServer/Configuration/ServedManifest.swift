import LarderKit

/// A manifest that a server serves.
public struct ServedManifest: Sendable {
    /// The last part of its path: `/manifest/<name>`.
    public let name: String
    /// Where it is; it is read again once it has changed.
    public let source: ManifestSource

    /// Takes its parts.
    public init(name: String, source: ManifestSource) {
        self.name = name
        self.source = source
    }
}
