/// What became of an import.
public struct ImportReport: Sendable {
    /// The layout.
    public let layout: ExportLayout
    /// The directory that the layout's files are in.
    public let directory: String
    /// Icons of all manifests.
    public internal(set) var icons = 0
    /// Icons whose bytes were adopted, and are durable.
    public internal(set) var imported = 0
    /// Icons that the cache had already, and that were left as they are.
    public internal(set) var present = 0
    /// Icons that the directory has no file for.
    public internal(set) var missing = 0
    /// The sum of the sizes of those that were adopted.
    public internal(set) var bytes: Int64 = 0
    /// Icons that were skipped, and that failed.
    public internal(set) var problems = IconProblems<ImportReason>()
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
}
