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

/// An icon that is to be exported, if the cache has it.
struct ExportedIcon {
    /// Its place in the list, from 1.
    let id: Int64
    /// The entry's name; text from outside.
    let name: String
    /// The URL as an app has it; nil if there is none.
    let url: String?
    /// What it is looked up by.
    let key: String
    /// What its files' names begin with; nil if that is not known yet.
    let stem: String?
    /// Nil if it has failed already.
    let object: StoredObject?

    static let columns = "id, name, url, key, stem, \(StoredObject.columns)"

    init(_ row: inout RowReader) throws {
        id = row.integer()
        name = try row.requireText()
        url = row.text()
        key = try row.requireText()
        stem = row.text()
        object = try row.optional { try StoredObject(&$0) }
    }

    func problem(_ code: ExportReason, _ message: String) -> ExportProblem {
        ExportProblem(code: code, name: name, url: url ?? key, message: message)
    }
}

/// How a layout's files are written and removed.
protocol ExportedFiles {
    /// Notes what is about to be written.
    func begin(_ list: ExportList) throws

    /// Puts an icon into its place.
    func place(_ object: StoredObject, _ stem: String) throws -> Placement

    /// Writes what lists the files, and removes those of no icon in the list if it is to.
    ///
    /// - Throws: ``CacheError``, `CancellationError`.
    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws
}

extension ExportedFiles {
    func begin(_ list: ExportList) throws {}
}

/// How a file came to be in its place.
enum Placement: Sendable {
    /// It is another name of the cache's own file.
    case linked
    /// It shares the blocks of the cache's file, until one of them is written.
    case cloned
    /// It is a copy.
    case copied
    /// It was there, with the right bytes.
    case unchanged
}
