import LarderCore

/// The icons that the keys of one manifest stand for, to find a key that stands for two.
///
/// Only digests are kept, about 32 bytes for each entry with a key. They are seeded at random, so
/// that no manifest can be made to have two equal ones.
final class KeyedIcons {
    private var icons: [UInt64: (digest: UInt32, position: UInt32)] = [:]

    /// Returns the result, or the error of an entry whose key stands for another URL or other bytes
    /// in an earlier entry: which of the two is meant cannot be told.
    func checked(_ result: ManifestItem.Result, at position: Int) -> ManifestItem.Result {
        let key: String
        let digest: UInt64
        switch result {
        case .entry(let entry):
            guard let own = entry.key else { return result }
            key = own
            // URLs with one key are equal. Credentials are no part of it.
            digest = Self.digest(of: entry.icon.key)
        case .inline(let entry):
            guard let own = ResourceKey.name(in: entry.resourceKey) else { return result }
            key = own
            var hasher = Hasher()
            entry.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            digest = Self.value(of: hasher)
        case .skipped, .failed: return result
        }
        let icon = (
            digest: UInt32(truncatingIfNeeded: digest), position: UInt32(clamping: position)
        )
        let keyDigest = Self.digest(of: key)
        guard let first = icons[keyDigest] else {
            icons[keyDigest] = icon
            return result
        }
        guard first.digest != icon.digest else { return result }
        return .failed(
            EntryError(
                .keyConflict,
                "key \(key.quoted(limit: 80)) belongs to entry \(first.position), which has another"
                    + " icon"))
    }

    /// As bytes: equal texts may have different ones, and are different keys.
    private static func digest(of text: String) -> UInt64 {
        var hasher = Hasher()
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return value(of: hasher)
    }

    private static func value(of hasher: consuming Hasher) -> UInt64 {
        UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
