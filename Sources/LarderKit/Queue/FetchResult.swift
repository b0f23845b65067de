import LarderCache

/// What became of one planned fetch.
struct FetchResult: Sendable {
    /// How the resource came to its bytes.
    enum Way: Sendable {
        /// From its origin.
        case fetched
        /// They were there, and their origin answered that nothing has changed.
        case revalidated
        /// From the remote.
        case pulled
        /// They are in the remote, and were left there.
        case shared
    }

    /// The bytes that the resource has.
    struct Success: Sendable {
        let digest: Digest
        /// Nil if nobody looked.
        let size: Int64?
        let attributes: ObjectAttributes
        let way: Way
        /// Whether they are in the cache: what its origin forbids to store was only checked.
        let isStored: Bool
    }

    /// Entries whose first icon waits, and icons that wait.
    struct Waiting: Sendable {
        let entries: Int
        let icons: Int

        init?(for fetch: PlannedFetch) {
            guard !fetch.hasExpectation else { return nil }
            (entries, icons) = (fetch.entries, fetch.icons)
        }
    }

    let id: Int64
    let result: Result<Success, FetchFailure>
    /// How many wait for it; nil if one of them demands particular bytes.
    var waiting: Waiting?
    var attempts = 0
    var seconds = 0.0
}
