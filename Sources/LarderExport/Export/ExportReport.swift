import LarderCache

/// What became of an export.
public struct ExportReport: Sendable {
    /// The layout.
    public let layout: ExportLayout
    /// The directory that the layout's files are in.
    public let directory: String
    /// Icons: of all manifests, or of the cache.
    public internal(set) var icons = 0
    /// Files that are hard links to the cache's.
    public internal(set) var linked = 0
    /// Files that are clones, which share the cache's blocks.
    public internal(set) var cloned = 0
    /// Files that are copies.
    public internal(set) var copied = 0
    /// Icons whose file was there, with the right bytes.
    public internal(set) var unchanged = 0
    /// Icons with the name and the bytes of another.
    public internal(set) var duplicates = 0
    /// The sum of the sizes of linked, cloned and copied files.
    public internal(set) var bytes: Int64 = 0
    /// Files of icons that are no longer there, which were removed.
    public internal(set) var pruned = 0
    /// Icons that were skipped, and that failed.
    public internal(set) var problems = IconProblems<ExportReason>()
    /// Whether it ended before its end.
    public internal(set) var isInterrupted = false
    /// How long it took.
    public internal(set) var seconds: Double = 0

    init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }

    /// Icons that were skipped.
    public var skipped: Int { problems.skipped }
    /// Icons that failed.
    public var failed: Int { problems.failed }
    /// Icons that an interruption left.
    public var unfinished: Int {
        icons - linked - cloned - copied - unchanged - duplicates - skipped - failed
    }

    mutating func note(_ placement: Placement, bytes: Int64) {
        switch placement {
        case .linked: linked += 1
        case .cloned: cloned += 1
        case .copied: copied += 1
        case .unchanged:
            unchanged += 1
            return
        }
        self.bytes += bytes
    }
}
