import LarderCore

/// The counts and findings of a verification.
public struct VerifyReport: Sendable {
    /// The steps of a verification, in order.
    public enum Step: String, Sendable, CaseIterable {
        /// SQLite's integrity check of the index.
        case index
        /// The comparison of manifests with the index.
        case manifests
        /// The comparison of objects with their rows.
        case objects
        /// The lookup of damaged objects' URLs.
        case resources
        /// Repairs without the network.
        case repair
        /// Downloads of damaged resources.
        case fetch
    }

    /// The number of verified objects.
    public internal(set) var objects = 0
    /// The number of bytes read.
    public internal(set) var bytes: Int64 = 0
    /// The number of intact objects, whose digest (or size, if quick) and index row match.
    public internal(set) var whole = 0
    /// The number of resources in the index.
    public internal(set) var resources = 0
    /// The number of entries in the manifests.
    public package(set) var entries = 0
    /// The number of icons that are never fetched, by kind.
    public package(set) var unfetched: [String: Int] = [:]
    /// The number of selected objects in the index.
    public internal(set) var indexObjects = 0
    /// The size of ``indexObjects`` in bytes.
    public internal(set) var indexBytes: Int64 = 0
    /// The number of selected object files.
    public var treeObjects: Int { objects }
    /// The size of ``treeObjects`` in bytes.
    public internal(set) var treeBytes: Int64 = 0
    /// The number of entries in `tmp/`.
    public internal(set) var temporaries = 0
    /// The number of entries in `tmp/` without a run in progress.
    public internal(set) var leftovers = 0
    /// Whether the verification was quick (``VerifyOptions/isQuick``).
    public internal(set) var isQuick = false
    /// Whether the verification resumed an earlier one.
    public internal(set) var isResumed = false
    /// Whether the end of the selection was reached.
    public internal(set) var reachesEnd = true
    /// Whether this verification alone covered its selection.
    public var isComplete: Bool { reachesEnd && !isResumed }
    /// Whether the verification or the repair was cancelled.
    public package(set) var isInterrupted = false
    /// The disk error that ended the verification early.
    public package(set) var failure: CacheError?
    /// The findings about objects and the index, ordered by subject.
    public package(set) var findings: [Finding] = []
    /// The findings about manifest entries.
    public package(set) var entryFindings = EntryFindings()
    /// The downloads of damaged resources.
    public package(set) var refetches: [Refetch] = []
    /// The duration of each step in seconds. `index` and `objects` overlap.
    public package(set) var steps: [Step: Double] = [:]
    /// The total duration in seconds.
    public package(set) var seconds: Double = 0
    /// The names of the manifests that limited the verification.
    public package(set) var manifests: [String] = []
    /// The digests and sizes that manifest entries require for damaged resources, by key.
    package var demands: [String: Set<Expectation>] = [:]

    /// Returns the number of findings of a kind.
    public func count(_ kind: Finding.Kind) -> Int {
        findings.count { $0.kind == kind } + (kind == .missing ? entryFindings.count : 0)
    }

    /// Whether the cache is free of corruption and every manifest entry is cached.
    public var isClean: Bool {
        entryFindings.count == 0 && !findings.contains { $0.kind.isCorruption }
    }

    /// The number of repaired findings.
    public var repaired: Int { findings.count { $0.isRepaired } }

    /// Whether all corruption was repaired and every manifest entry is cached.
    public var isSound: Bool {
        entryFindings.count == 0 && findings.allSatisfy { !$0.kind.isCorruption || $0.isRepaired }
    }

    package mutating func sort() {
        findings.sort { ($0.subject, $0.kind.rawValue) < ($1.subject, $1.kind.rawValue) }
    }

    package mutating func note(
        _ step: Step, since start: ContinuousClock.Instant,
        until end: ContinuousClock.Instant = .now
    ) {
        let taken = (end - start) / .seconds(1)
        steps[step, default: 0] += taken
        seconds += taken
    }

    mutating func add(_ other: VerifyReport) {
        objects += other.objects
        bytes += other.bytes
        whole += other.whole
        indexObjects += other.indexObjects
        indexBytes += other.indexBytes
        treeBytes += other.treeBytes
        findings += other.findings
    }

    /// An observation about one file or manifest entry.
    public struct Finding: Sendable {
        /// The kind of a finding.
        public enum Kind: String, Sendable, CaseIterable {
            /// The file's digest differs from its name.
            case corrupt
            /// An object's file is missing, or a manifest entry is not cached.
            case missing
            /// The file is unreadable. Its bytes may be intact.
            case unreadable
            /// A symbolic link, never followed, in place of an indexed object.
            case link
            /// The index is damaged.
            case index
            /// A file in place of an object directory.
            case obstructed
            /// An object without an index row, left by a crash. Eviction removes it.
            case orphaned
            /// An object in the wrong directory.
            case misplaced
            /// A foreign file or directory. Repairs move only directories in place of objects.
            case foreign
            /// An intact object whose mode is not 0444, for example after copying.
            case mode

            /// Whether the finding is damage.
            public var isCorruption: Bool {
                ![.orphaned, .misplaced, .foreign, .mode].contains(self)
            }
        }

        /// The result of a repair.
        public enum Repair: String, Sendable, CaseIterable {
            /// The object is intact again, with the same bytes.
            case restored
            /// The resource was downloaded again with different bytes.
            case changed
            /// The file was moved away, and no URL needs it.
            case removed
            /// The file was moved away, and the next repair or prefetch retries its downloads.
            case lost
        }

        /// The kind of the finding.
        public let kind: Kind
        /// The file's path relative to the root, or the position of a manifest entry.
        public let subject: String
        /// The details of the finding.
        public let message: String
        /// The digest of the object, if any.
        public let digest: Digest?
        /// The URLs that map to the object.
        public package(set) var urls: [String]
        /// Whether the manifest entry is invalid, so a prefetch does not cache its icon.
        package var isUnusable = false
        /// The result of the repair, if any.
        public package(set) var repair: Repair?
        /// The path in `quarantine/` relative to the root, if the file was moved there.
        public package(set) var quarantine: String?

        package init(
            _ kind: Kind, _ subject: String, _ message: String, digest: Digest? = nil,
            urls: [String] = []
        ) {
            (self.kind, self.subject, self.message) = (kind, subject, message)
            (self.digest, self.urls) = (digest, urls)
        }

        package init(damaged digest: Digest?, urls: [String]) {
            self.init(
                .missing, digest.map(CacheLayout.path) ?? CacheLayout.index,
                "was damaged and has not been downloaded again", digest: digest, urls: urls)
        }

        package var isRepaired: Bool { repair.map { $0 != .lost } ?? false }
    }

    /// The result of downloading a damaged resource again.
    public struct Refetch: Sendable {
        /// The outcome of a download.
        public enum Outcome: String, Sendable, CaseIterable {
            /// The bytes are the same as before.
            case fetched
            /// The bytes have changed.
            case changed
            /// The download failed.
            case failed
        }

        /// The resource's key, usually its URL.
        public let key: String
        /// The outcome of the download.
        public let outcome: Outcome
        /// The digest of the bytes; nil if the download failed.
        public let digest: Digest?
        /// The code and message of a failure.
        public let problem: (code: String, message: String)?
        /// Network options that were not given and may prevent the failure, such as `--ca-cert`.
        package var missingOptions: String?

        package init(
            key: String, outcome: Outcome, digest: Digest? = nil,
            problem: (code: String, message: String)? = nil
        ) {
            (self.key, self.outcome) = (key, outcome)
            (self.digest, self.problem) = (digest, problem)
        }
    }

    /// The findings about manifest entries, in a temporary file.
    public struct EntryFindings: Sendable {
        /// The number of findings.
        public package(set) var count = 0
        package var fetchable = 0
        package var unusable = 0
        package var first: Finding?
        package var read: @Sendable ((Finding) throws -> Void) throws -> Void = { _ in }

        package init() {}

        /// Calls `body` for each finding, in the order of the manifests. Throws the errors of
        /// `body`, and a ``CacheError`` if the temporary file cannot be read.
        public func forEach(_ body: (Finding) throws -> Void) throws { try read(body) }
    }
}
