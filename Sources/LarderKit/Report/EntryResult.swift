import LarderCache

/// What became of one icon of an entry, or of an entry without any.
public struct EntryResult: Sendable {
    /// The words of a report. They only ever grow.
    public enum Outcome: String, Sendable, CaseIterable {
        /// Its bytes were downloaded and are stored.
        case fetched
        /// It was stale; its origin answered that nothing changed.
        case revalidated
        /// It was in the cache and fresh.
        case cached
        /// Another entry of the run asked for the same resource first.
        case coalesced
        /// There is nothing to fetch for it.
        case skipped
        /// It could not be fetched, was cancelled by itself, or is not usable as an entry.
        case failed
        /// The run ended before its turn came.
        case unfinished
        /// Its bytes were downloaded and are good, and its origin forbids to store them.
        case unstored
        /// Its bytes came from the remote and are stored.
        case pulled
        /// It is in the remote and fresh; as a worker only fills that, its bytes were left there.
        case shared

        init(_ way: FetchResult.Way) {
            self =
                switch way {
                case .fetched: .fetched
                case .revalidated: .revalidated
                case .pulled: .pulled
                case .shared: .shared
                }
        }
    }

    /// Why an entry failed or was skipped.
    public struct Problem: Sendable, Equatable {
        /// The reason's name.
        public let code: String
        /// The reason in words.
        public let message: String
    }

    /// The manifest's name, as it was given.
    public let manifest: String
    /// Its place among the manifest's elements; the first is 1.
    public let position: Int
    /// The icon's place among those of its entry; the first is 1, also if there is none.
    public let icon: Int
    /// The app's name; text from outside.
    public let name: String
    /// The icon's URL, credentials masked; nil if the entry has none.
    public let url: String?
    /// What became of it.
    public let outcome: Outcome
    /// The digest of its bytes, which are in the cache unless the outcome says otherwise.
    public var digest: Digest?
    /// How many bytes there are.
    public var bytes: Int64?
    /// What a check of the bytes found out.
    public var attributes = ObjectAttributes()
    /// How many requests were started over for it; 0 if none was made.
    public var attempts = 0
    /// From its first request to its last byte, in seconds.
    public var seconds: Double = 0
    /// Why it failed or was skipped.
    public var problem: Problem?

    /// The plan's number for it, in the order of the manifests.
    let id: Int64
    /// Whether the entry demands particular bytes.
    let hasDemand: Bool

    init(_ entry: PlannedEntry, _ outcome: Outcome) {
        id = entry.id
        hasDemand = entry.expectation.digest != nil || entry.expectation.size != nil
        manifest = entry.manifest
        position = entry.position
        icon = entry.icon
        name = entry.name
        url = entry.url
        self.outcome = outcome
    }
}
