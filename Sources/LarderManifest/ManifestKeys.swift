/// The keys of the resources that manifests name: what their entries are looked up by in a cache.
public struct ManifestKeys {
    private let sources: [ManifestSource]
    private let rules: ManifestRules
    private let mustBeUsable: Bool

    /// Takes manifests and how to read them.
    ///
    /// - Parameter mustBeUsable: whether an entry that cannot be used is an error. Default: false.
    public init(
        _ sources: [ManifestSource], rules: ManifestRules = .init(), mustBeUsable: Bool = false
    ) {
        self.sources = sources
        self.rules = rules
        self.mustBeUsable = mustBeUsable
    }

    /// Hands over the key of every entry that has one, duplicates included. Entries that cannot be
    /// used name nothing: no prefetch has stored anything for them.
    ///
    /// - Throws: ``ManifestError``, also for what only an earlier prefetch may have known: the base
    ///   of a relative URL, the gateway of an ipfs URL, and the places of icons in an unknown
    ///   shape. If all must be usable, for the first that is not. And what `body` throws.
    public func forEach(_ body: (String) throws -> Void) throws {
        for source in sources {
            let summary = try ManifestReader(source: source, rules: rules).read { item in
                switch item.result {
                case .entry(let entry): try body(entry.resourceKey)
                case .inline(let entry): try body(entry.resourceKey)
                case .failed(let error):
                    guard let reason = refusal(of: error) else { return }
                    throw ManifestError(
                        .malformed, source: source.name, at: .entry(item.position), reason)
                case .skipped: return
                }
            }
            if let refusal = summary.refusal(of: source) { throw refusal }
        }
    }

    private func refusal(of error: EntryError) -> String? {
        if error.code == .relativeURL {
            return "the URL is relative: say which base URL (--base-url) it was prefetched with"
        }
        if error.scheme == "ipfs" {  // text: ASCII
            return "the URL is of ipfs:"
                + " say which gateway (--ipfs-gateway) it was prefetched through"
        }
        return mustBeUsable ? "\(error.message): nobody knows what it should keep" : nil
    }
}
