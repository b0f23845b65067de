import LarderCore

/// The digest and size that a manifest requires of an icon.
package struct Expectation: Sendable {
    package let digest: Digest?
    package let size: Int64?

    package init(digest: Digest?, size: Int64?) {
        self.digest = digest
        self.size = size
    }

    var isDemanding: Bool { digest != nil || size != nil }

    /// Returns the error code (see docs/output.md) and message if the bytes are not as expected.
    package func mismatch(
        digest actual: Digest, size actualSize: Int64
    ) -> (code: String, message: String)? {
        if let digest, digest != actual {
            return (
                "integrity-mismatch", "expected \(digest), received \(actual) (\(actualSize) bytes)"
            )
        }
        if let size, size != actualSize {
            return ("size-mismatch", "expected \(Int(size).of("byte")), received \(actualSize)")
        }
        return nil
    }
}

extension ManifestItem {
    package var resourceKey: String? {
        switch result {
        case .entry(let entry): entry.resourceKey
        case .inline(let entry): entry.resourceKey
        case .skipped, .failed: nil
        }
    }

    /// The icon's URL for display, or nil if there is none.
    package var shownURL: String? {
        guard case .entry(let entry) = result else { return nil }
        return ResourceKey.shownURL(
            entry.icon.string, key: entry.key.map(ResourceKey.named),
            hasCredentials: entry.icon.credentials != nil)?
            .sanitizedForTerminal
    }
}

extension ManifestItem.Result {
    package var expectation: Expectation {
        switch self {
        case .entry(let entry):
            Expectation(digest: entry.expectedDigest, size: entry.expectedSize)
        case .inline(let entry):
            Expectation(digest: entry.expectedDigest, size: entry.expectedSize)
        case .skipped, .failed: Expectation(digest: nil, size: nil)
        }
    }
}
