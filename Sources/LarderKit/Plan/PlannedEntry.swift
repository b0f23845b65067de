import LarderCache

/// One icon of an entry of a manifest, or an entry without any, as the plan sees it.
public struct PlannedEntry: Sendable {
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
    /// What has to be done for the URL; nil if the entry has none.
    public let status: PlanStatus?
    /// Whether an earlier entry asks for the same resource.
    public let isDuplicate: Bool
    /// The priority that its URL is fetched with.
    public let priority: Int
    /// Why there is nothing to do for the entry: it is skipped, or has failed.
    public let error: EntryProblem?
    /// How its resource failed when it was last asked for; nil if it did not.
    public let lastFailure: PastFailure?

    /// What the cache has for the URL, as far as the plan looked it up.
    var object: StoredObject?
    let id: Int64
    let fetch: Int64?
    let expectation: Expectation

    /// `missing`, `stale`, `cached`, `skipped` or `failed`.
    package var statusWord: String {
        if let error { return error.isSkip ? "skipped" : "failed" }
        return (status ?? .missing).name
    }
}

/// Why an entry is not planned for.
public struct EntryProblem: Sendable, Equatable {
    /// Whether the entry merely has no icon, which is not a failure.
    public let isSkip: Bool
    /// The reason's name, such as `unsupported-scheme`.
    public let code: String
    /// The reason in words; safe to print.
    public let message: String
}

extension EntryProblem {
    /// A permanent failure that is remembered.
    init(remembered failure: PastFailure) {
        self.init(
            isSkip: false, code: failure.code,
            message: "\(failure.reason) \(failure.age) ago, which is remembered; "
                + "--force asks again")
    }

    /// It is not in the cache, and nothing is asked for.
    static let offline = EntryProblem(
        isSkip: false, code: "offline",
        message: "not in the cache, or not as the entry demands, and nothing is to be downloaded")

    /// Only what failed before is fetched, and this did not.
    static let notFailedBefore = EntryProblem(
        isSkip: true, code: "not-failed-before",
        message: "did not fail before, and --retry-failed was given")
}
