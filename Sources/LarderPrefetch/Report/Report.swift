import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest

/// What a run did: counted, never estimated, and in agreement with the results of its entries.
public struct Report: Sendable {
    /// Elements in all manifests. With a shard, those whose first icon is its own.
    public internal(set) var entries = 0
    /// Icons of all entries, the sum of all outcomes; an entry without one counts as one.
    public internal(set) var icons = 0
    /// Icons that are left to other shards. They have no outcome here.
    public internal(set) var otherShards = 0
    /// Values that look like icons and were not read: see ``PlanSummary/unread``.
    public internal(set) var unread = 0
    /// Names of manifests whose digests and sizes may be of something else: no icon has them.
    public internal(set) var foreignDemands: [String] = []
    /// How many icons had each outcome.
    public internal(set) var outcomes: [EntryResult.Outcome: Int] = [:]
    /// How many icons failed for each reason.
    public internal(set) var failures: [String: Int] = [:]
    /// Body bytes received.
    public internal(set) var receivedBytes: Int64 = 0
    /// The run's duration in seconds.
    public internal(set) var seconds: Double = 0
    /// Whether ``Prefetcher/cancel()`` was called before the end.
    public internal(set) var isInterrupted = false
    /// Why the cache could not go on: the disk is full or failing, or the directory is not usable.
    public internal(set) var failure: CacheError?
    /// What the run had to do with the remote; nil without one.
    public internal(set) var remote: RemoteReport?
    /// Whether ``PrefetchConfiguration/onLocked`` was told of every icon.
    public internal(set) var isLocked = false

    var isComplete: Bool {
        count(.failed) + count(.unfinished) == 0 && failure == nil && !isInterrupted
    }

    /// Whether an icon failed that the same run may get another time.
    package var hasRetriableFailures: Bool {
        let permanent = [EntryFailure.offline.code, TransferError.Code.addressRefused.rawValue]
        return failures.keys.contains { code in
            EntryError.Code(rawValue: code) == nil && !permanent.contains(code)
        }
    }

    /// The report of a run that was interrupted before it had read its manifests.
    package static var interrupted: Report {
        var report = Report()
        report.isInterrupted = true
        return report
    }

    /// How many icons had an outcome.
    public func count(_ outcome: EntryResult.Outcome) -> Int { outcomes[outcome, default: 0] }

    mutating func addCached(_ plan: PlanSummary) {
        entries += plan.cachedEntries
        icons += plan.cachedIcons
        if plan.cachedIcons > 0 { outcomes[.cached, default: 0] += plan.cachedIcons }
    }

    mutating func add(_ success: ResourceResult.Success, for waiting: ResourceResult.Waiting) {
        entries += waiting.entries
        icons += waiting.icons
        guard success.outcome != .unstored else {
            return outcomes[.unstored, default: 0] += waiting.icons
        }
        outcomes[success.outcome, default: 0] += 1
        if waiting.icons > 1 { outcomes[.coalesced, default: 0] += waiting.icons - 1 }
    }

    mutating func addUnfinished(of plan: PlanSummary) {
        outcomes[.unfinished, default: 0] += max(0, plan.icons - icons)
        (entries, icons) = (max(entries, plan.entries), max(icons, plan.icons))
    }

    mutating func add(_ result: EntryResult) {
        if result.icon == 1 { entries += 1 }
        icons += 1
        outcomes[result.outcome, default: 0] += 1
        if result.outcome == .failed, let failure = result.failure {
            failures[failure.code, default: 0] += 1
        }
    }
}

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
        /// It could not be fetched, or is not usable as an entry.
        case failed
        /// The run ended before its turn came.
        case unfinished
        /// Its bytes were downloaded and are good, and its origin forbids to store them.
        case unstored
        /// Its bytes came from the remote and are stored.
        case pulled
        /// It is in the remote and fresh; as a worker only fills that, its bytes were left there.
        case shared
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
    public var failure: EntryFailure?

    let id: Int64
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

    init(_ entry: PlannedEntry, _ failure: EntryFailure) {
        self.init(entry, failure.isSkip ? .skipped : .failed)
        self.failure = failure
    }
}

/// What a run had to do with a remote.
public struct RemoteReport: Sendable {
    /// The remote, as `s3://bucket/prefix`.
    public let location: String
    /// URLs that were copied from it.
    public internal(set) var pulled = 0
    /// The bytes of their objects, without those that the cache had.
    public internal(set) var pulledBytes: Int64 = 0
    /// URLs that were stored in it, or whose references were renewed.
    public internal(set) var pushed = 0
    /// Bytes that were sent.
    public internal(set) var pushedBytes: Int64 = 0
    /// URLs that are in the cache and that it has already, as they are there or newer.
    public internal(set) var present = 0
    /// Cached URLs that could not be stored, or that an interrupted run did not reach.
    public internal(set) var unpushed = 0
    /// URLs that are not to be shared: `private`, or requested with credentials.
    public internal(set) var personal = 0
    /// Unusable objects and references, by the reason's name. Their origins were asked instead.
    public internal(set) var faults: [String: Int] = [:]
    /// The first of them, in words.
    public internal(set) var firstFault: String?
    /// Why nothing more was asked of it; nil if it did not come to that.
    public internal(set) var failure: String?

    init(location: String) { self.location = location }

    /// Whether everything is there that should be.
    public var isComplete: Bool { failure == nil && unpushed == 0 }
}

struct ResourceResult: Sendable {
    struct Success: Sendable {
        let digest: Digest
        /// Nil if the size was not looked up.
        let size: Int64?
        let attributes: ObjectAttributes
        /// `fetched`, `revalidated`, `unstored`, `pulled` or `shared`.
        let outcome: EntryResult.Outcome
    }

    struct Waiting: Sendable {
        let entries: Int
        let icons: Int

        init?(for resource: PlannedResource) {
            guard !resource.hasExpectation else { return nil }
            (entries, icons) = (resource.entries, resource.icons)
        }
    }

    let id: Int64
    let result: Result<Success, ResourceFailure>
    /// Nil if an entry demands particular bytes.
    var waiting: Waiting?
    var attempts = 0
    var seconds = 0.0
}
