/// The cache keys of the icons in manifests.
public struct ManifestKeys {
    private let sources: [ManifestSource]
    private let rules: ManifestRules
    private let mustBeUsable: Bool

    /// Creates a reader of keys.
    ///
    /// - Parameter mustBeUsable: Whether an unusable entry is an error. Default: false.
    public init(
        _ sources: [ManifestSource], rules: ManifestRules = .init(), mustBeUsable: Bool = false
    ) {
        self.sources = sources
        self.rules = rules
        self.mustBeUsable = mustBeUsable
    }

    /// Calls `body` with each icon's key, including duplicates. Skips unusable entries, because a
    /// prefetch stores nothing for them.
    ///
    /// - Throws: The errors of `body`. ``ManifestError`` if a manifest cannot be read, if the rules
    ///   lack the base URL, IPFS gateway or icon paths that it needs, or if an entry must be usable
    ///   but is not.
    public func forEach(_ body: (String) throws -> Void) throws {
        for source in sources {
            let summary = try ManifestReader(source: source, rules: rules).read { item in
                if let key = item.resourceKey { return try body(key) }
                guard let reason = refusal(of: item) else { return }
                throw ManifestError(
                    .malformed, source: source.name, at: .entry(item.position), reason)
            }
            if let refusal = summary.refusal(of: source) { throw refusal }
        }
    }

    private func refusal(of item: ManifestItem) -> String? {
        let reason: String?
        switch item.result {
        case .unfetched(.relative):
            return "the URL is relative; pass the same --base-url as you did to prefetch"
        case .unfetched where item.value?.isIPFS == true:
            return "the URL has the scheme 'ipfs';"
                + " pass the same --ipfs-gateway as you did to prefetch"
        case .unfetched: reason = item.value?.reason
        case .failed(let error): reason = error.message
        case .entry, .inline, .skipped: return nil
        }
        guard mustBeUsable, let reason else { return nil }
        return "\(reason); fix or remove this entry, because its icon cannot be kept"
    }
}
