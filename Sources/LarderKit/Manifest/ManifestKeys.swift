import LarderTransfer

/// The keys of the resources that manifests name: what their entries are looked up by in a cache.
public struct ManifestKeys {
    private let sources: [ManifestSource]
    private let baseURL: HTTPURL?
    private let mustBeUsable: Bool

    /// - Parameters:
    ///   - baseURL: what relative icon URLs are resolved against. Default: nil.
    ///   - mustBeUsable: whether one entry that cannot be used is an error. Default: false.
    public init(
        _ sources: [ManifestSource], baseURL: HTTPURL? = nil, mustBeUsable: Bool = false
    ) {
        self.sources = sources
        self.baseURL = baseURL
        self.mustBeUsable = mustBeUsable
    }

    /// Hands over the key of every entry that has one, duplicates included. Entries that cannot be used
    /// name nothing: no prefetch has stored anything for them.
    ///
    /// - Throws: ``ManifestError``, also where an entry's URL is relative and there is nothing to resolve
    ///   it against: a prefetch may have had a base URL. Where all must be usable, for the first that is not.
    ///   And what `body` throws.
    public func forEach(_ body: (String) throws -> Void) throws {
        for source in sources {
            _ = try ManifestReader(source: source, baseURL: baseURL).read { item in
                switch item.result {
                case .entry(let entry): try body(entry.key ?? entry.icon.string)
                case .failed(let error) where error.code == .relativeURL:
                    throw ManifestError(
                        .malformed, source: source.name, at: .entry(item.position),
                        "the URL is relative: say which base URL (--base-url) it was prefetched with"
                    )
                case .failed(let error) where mustBeUsable:
                    throw ManifestError(
                        .malformed, source: source.name, at: .entry(item.position),
                        "\(error.message): nobody knows what it should keep")
                case .skipped, .failed: return
                }
            }
        }
    }
}
