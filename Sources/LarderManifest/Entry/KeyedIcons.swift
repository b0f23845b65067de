import LarderCore

/// A detector of keys that entries use for different icons. Keeps only hash values, about 32 bytes
/// per key. A random seed prevents crafted collisions.
final class KeyedIcons {
    private var icons: [UInt64: (digest: UInt32, position: UInt32)] = [:]

    func conflict(of result: ManifestItem.Result, at position: Int) -> EntryError? {
        let key: String
        let digest: UInt64
        switch result {
        case .entry(let entry):
            guard let own = entry.key else { return nil }
            (key, digest) = (own, Self.digest(of: Array(entry.icon.key.utf8)))
        case .inline(let entry):
            guard let own = ResourceKey.name(in: entry.resourceKey) else { return nil }
            (key, digest) = (own, Self.digest(of: entry.bytes))
        case .skipped, .unfetched, .failed: return nil
        }
        let icon = (
            digest: UInt32(truncatingIfNeeded: digest), position: UInt32(clamping: position)
        )
        let keyDigest = Self.digest(of: Array(key.utf8))
        let first = icons[keyDigest] ?? icon
        icons[keyDigest] = first
        guard first.digest != icon.digest else { return nil }
        return EntryError(
            .keyConflict,
            "key \(key.quoted(limit: 80)) is already used by entry \(first.position)"
                + " for another icon")
    }

    /// Hashes bytes instead of a `String`, because different keys can be equal strings in Swift.
    private static func digest(of bytes: [UInt8]) -> UInt64 {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
