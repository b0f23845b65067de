import LarderCache

/// What became of one planned fetch.
struct FetchResult: Sendable {
    /// The bytes that the resource has.
    struct Success: Sendable {
        let digest: Digest
        let size: Int64
        let attributes: ObjectAttributes
        /// The origin answered that nothing has changed.
        let isRevalidation: Bool
        /// Whether they are in the cache: what its origin forbids to store was only checked.
        let isStored: Bool
    }

    let id: Int64
    let result: Result<Success, FetchFailure>
    /// The entries' demands, where there are any.
    let expectations: [Expectation]
    let attempts: Int
    let seconds: Double
}
