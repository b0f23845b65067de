import LarderCache

extension ManifestItem {
    /// What its icon is looked up by in a cache; nil if it has none that can be used.
    package var resourceKey: String? {
        switch result {
        case .entry(let entry): entry.resourceKey
        case .inline(let entry): entry.resourceKey
        case .skipped, .failed: nil
        }
    }

    /// Its icon's URL as an output shows it; nil if it has none, or holds the icon itself.
    package var shownURL: String? {
        guard case .entry(let entry) = result else { return nil }
        return Plan.shownURL(
            entry.icon.string, key: entry.key.map(ResourceKey.named),
            hasCredentials: entry.icon.credentials != nil)?
            .sanitizedForTerminal
    }

    /// Why bytes are not those that it demands; nil if they are, or it demands none.
    package func refusal(of object: StoredObject) -> FetchFailure? {
        let expectation: Expectation
        switch result {
        case .entry(let entry):
            expectation = Expectation(digest: entry.expectedDigest, size: entry.expectedSize)
        case .inline(let entry):
            expectation = Expectation(digest: entry.expectedDigest, size: entry.expectedSize)
        case .skipped, .failed: return nil
        }
        return expectation.refusal(digest: object.digest, size: object.size)
    }
}
