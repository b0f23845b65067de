/// What a server serves, and within what bounds.
public struct ServerConfiguration: Sendable {
    /// The cache's directory.
    public var cache: String

    /// The defaults, for a cache.
    public init(cache: String) {
        self.cache = cache
    }
}
