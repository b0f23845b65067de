import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest

/// The result of a run.
public struct Report: Sendable {
    /// The number of entries, as in ``PlanSummary/entries``.
    public internal(set) var entries = 0
    /// The number of icons, the sum of all outcomes. An entry without an icon counts as one.
    public internal(set) var icons = 0
    /// The counts of the plan, including icons of other shards, which have no outcome.
    public internal(set) var plan = PlanSummary()
    /// The names of manifests whose digests and sizes match no icon.
    public internal(set) var foreignDemands: [String] = []
    /// The number of icons by outcome.
    public internal(set) var outcomes: [EntryResult.Outcome: Int] = [:]
    /// The number of failed icons by code.
    public internal(set) var failures: [String: Int] = [:]
    /// The number of body bytes received.
    public internal(set) var receivedBytes: Int64 = 0
    /// The duration of the run in seconds.
    public internal(set) var seconds: Double = 0
    /// Whether ``Prefetcher/cancel()`` was called before the run ended.
    public internal(set) var isInterrupted = false
    /// The error that ended the run early: a full or failing disk, or an unusable cache.
    public internal(set) var failure: CacheError?
    /// The result of the exchange with the remote, or nil without a remote.
    public internal(set) var remote: RemoteReport?
    /// Whether ``PrefetchConfiguration/onLocked`` was called for every icon.
    public internal(set) var isLocked = false

    /// Whether the run reached its end without a failed icon.
    public var isComplete: Bool {
        count(.failed) + count(.unfinished) == 0 && failure == nil && !isInterrupted
    }

    package var hasRetriableFailures: Bool {
        let permanent = [EntryFailure.offline.code, TransferError.Code.addressRefused.rawValue]
        return failures.keys.contains { code in
            EntryError.Code(rawValue: code) == nil && !permanent.contains(code)
        }
    }

    package static let interrupted = Report(isInterrupted: true)

    /// Returns the number of icons with an outcome.
    public func count(_ outcome: EntryResult.Outcome) -> Int { outcomes[outcome, default: 0] }

    mutating func addCached() {
        entries += plan.cachedEntries
        icons += plan.cachedIcons
        if plan.cachedIcons > 0 { outcomes[.cached, default: 0] += plan.cachedIcons }
    }

    mutating func add(_ success: ResourceResult.Success, for waiting: PlannedResource.Waiting) {
        entries += waiting.entries
        icons += waiting.icons
        guard success.outcome != .unstored else {
            return outcomes[.unstored, default: 0] += waiting.icons
        }
        outcomes[success.outcome, default: 0] += 1
        if waiting.icons > 1 { outcomes[.coalesced, default: 0] += waiting.icons - 1 }
    }

    mutating func addUnfinished() {
        outcomes[.unfinished, default: 0] += max(0, plan.icons - icons)
        (entries, icons) = (max(entries, plan.entries), max(icons, plan.icons))
    }

    mutating func add(_ result: EntryResult) {
        if result.entry.icon == 1 { entries += 1 }
        icons += 1
        outcomes[result.outcome, default: 0] += 1
        if result.outcome == .failed, let failure = result.failure {
            failures[failure.code, default: 0] += 1
        }
    }
}

/// The result for one icon, or for an entry without an icon.
@dynamicMemberLookup
public struct EntryResult: Sendable {
    /// The outcome of an icon. New cases may be added.
    public enum Outcome: String, Sendable, CaseIterable {
        /// The icon was downloaded and stored.
        case fetched
        /// The icon was stale, and its origin confirmed that it is unchanged.
        case revalidated
        /// The icon was in the cache and fresh.
        case cached
        /// An earlier entry of the run names the same resource.
        case coalesced
        /// The icon was not fetched, because the entry has no icon or the run leaves it out.
        case skipped
        /// The icon was not fetched, because of an error or an invalid entry.
        case failed
        /// The icon was not fetched before the run ended.
        case unfinished
        /// The icon was downloaded and is valid, but the origin forbids storing it.
        case unstored
        /// The icon was copied from the remote and stored.
        case pulled
        /// The icon is fresh in the remote, which this worker only fills.
        case shared
    }

    /// The outcome of the icon.
    public let outcome: Outcome
    /// The icon's digest. The icon is in the cache, unless ``outcome`` is `unstored` or `shared`.
    public var digest: Digest?
    /// The size of the icon in bytes.
    public var bytes: Int64?
    /// The media type and dimensions of the icon.
    public var attributes = ObjectAttributes()
    /// The number of attempts, or 0 if no request was made.
    public var attempts = 0
    /// The seconds from the start of the first attempt to the end of the last.
    public var seconds: Double = 0
    /// The reason why the icon failed or was skipped.
    public var failure: EntryFailure?

    package let entry: PlannedEntry

    /// Returns a property of the ``PlannedEntry``, for example the name.
    public subscript<Value>(dynamicMember property: KeyPath<PlannedEntry, Value>) -> Value {
        entry[keyPath: property]
    }

    /// If the plan fails or skips the entry, the result has that outcome instead.
    init(_ entry: PlannedEntry, _ outcome: Outcome, failure: ResourceFailure? = nil) {
        let failure =
            entry.failure
            ?? failure.map { EntryFailure(isSkip: false, code: $0.code, message: $0.message) }
        self.entry = entry
        self.outcome = failure.map { $0.isSkip ? Outcome.skipped : .failed } ?? outcome
        self.failure = failure
    }
}

/// The result of a run's exchange with a remote.
public struct RemoteReport: Sendable {
    /// The remote's location, for example `s3://bucket/prefix`.
    public let location: String
    /// The number of URLs copied from the remote.
    public internal(set) var pulled = 0
    /// The number of bytes received from the remote.
    public internal(set) var pulledBytes: Int64 = 0
    /// The number of URLs stored in the remote, including renewed references.
    public internal(set) var pushed = 0
    /// The number of bytes sent to the remote.
    public internal(set) var pushedBytes: Int64 = 0
    /// The number of cached URLs that the remote has, in the same or a newer version.
    public internal(set) var present = 0
    /// The number of cached URLs not stored because of errors or an interruption.
    public internal(set) var unpushed = 0
    /// The number of URLs not shared, because of private responses or requests with credentials.
    public internal(set) var personal = 0
    /// The number of unusable objects and references by code. Their icons are fetched from origins.
    public internal(set) var faults: [String: Int] = [:]
    /// The description of the first fault.
    public internal(set) var firstFault: String?
    /// The reason why the remote was given up.
    public internal(set) var failure: String?

    /// Whether the remote has everything that the run should have stored.
    public var isComplete: Bool { failure == nil && unpushed == 0 }
}

struct ResourceResult: Sendable {
    struct Success: Sendable {
        let digest: Digest
        let size: Int64?
        let attributes: ObjectAttributes
        let outcome: EntryResult.Outcome
    }

    let id: Int64
    let result: Result<Success, ResourceFailure>
    var isFailure: Bool { if case .failure = result { true } else { false } }
    var waiting: PlannedResource.Waiting?
    var attempts = 0
    var seconds = 0.0
}
