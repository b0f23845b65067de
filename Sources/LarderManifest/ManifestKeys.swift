extension ManifestSource {
    /// Calls `body` with the cache key of each icon, including duplicates. Unless `mustBeUsable` is
    /// true (default: false), skips unusable entries, because a prefetch stores nothing for them.
    ///
    /// - Throws: The errors of `body`, or ``ManifestError`` if the manifest cannot be read, needs a
    ///   base URL, IPFS gateway or icon paths that the rules lack, or has an entry that must be
    ///   usable but is not.
    public func forEachKey(
        rules: ManifestRules = .init(), mustBeUsable: Bool = false, _ body: (String) throws -> Void
    ) throws {
        let summary = try ManifestReader(source: self, rules: rules).read { item in
            if let key = item.resourceKey { return try body(key) }
            guard let reason = Self.refusal(of: item, mustBeUsable: mustBeUsable) else { return }
            throw ManifestError(.malformed, source: name, at: .entry(item.position), reason)
        }
        if let refusal = summary.refusal(of: self) { throw refusal }
    }

    private static func refusal(of item: ManifestItem, mustBeUsable: Bool) -> String? {
        let reason: String?
        switch item.result {
        case .unfetched(.relative):
            return "the URL is relative; use the same --base-url as for the prefetch"
        case .unfetched where item.value?.isIPFS == true:
            return "the URL has the scheme 'ipfs';"
                + " use the same --ipfs-gateway as for the prefetch"
        case .unfetched: reason = item.value?.reason
        case .failed(let error): reason = error.message
        case .entry, .inline, .skipped: return nil
        }
        guard mustBeUsable, let reason else { return nil }
        return "\(reason); fix or remove this entry, because its icon cannot be kept"
    }
}
