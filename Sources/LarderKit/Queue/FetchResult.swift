import LarderCache

/// What became of one planned fetch.
struct FetchResult: Sendable {
    /// What was recorded in the cache.
    struct Success: Sendable {
        let digest: Digest
        let size: Int64
        let attributes: ObjectAttributes
        /// The origin answered that nothing has changed.
        let isRevalidation: Bool
    }

    let id: Int64
    let result: Result<Success, FetchFailure>
    /// The entries' demands, where there are any.
    let expectations: [Expectation]
    let attempts: Int
    let seconds: Double
}
