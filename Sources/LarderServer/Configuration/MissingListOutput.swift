/// Where the list of missing icons is kept.
public struct MissingListOutput: Sendable {
    /// A list has no more URLs.
    public static let maximumURLs = 10_000
    /// Nor have they more bytes.
    public static let maximumBytes = 2 << 20

    /// Reads what was kept last.
    let load: @Sendable () throws -> [String]
    /// Takes the list's whole text in the place of the last one.
    let store: @Sendable (String) throws -> Void

    /// Takes both ways.
    ///
    /// - Parameters:
    ///   - load: reads the URLs that were kept last, called once.
    ///   - store: keeps a manifest, called seconds apart and never twice at a time.
    public init(
        load: @escaping @Sendable () throws -> [String],
        store: @escaping @Sendable (String) throws -> Void
    ) {
        self.load = load
        self.store = store
    }
}
