import Foundation

/// What a cache holds, counted and not estimated.
public struct CacheStatus: Sendable {
    /// The root's absolute path.
    public let path: String
    /// The index's counts.
    public private(set) var totals = IndexTotals()
    /// What the index and its companions take on disk, in bytes.
    public private(set) var indexBytes: Int64 = 0
    /// What the object files take on disk, in bytes of allocated blocks.
    public private(set) var diskBytes: Int64 = 0
    /// Entries in `tmp/`: runs that are under way, or leftovers of dead ones.
    public private(set) var temporaries = 0
    /// Files in `quarantine/`.
    public private(set) var quarantined = 0
    /// Fan-out directories that may not be entered: ``diskBytes`` lacks what is in them.
    public private(set) var unreadable = 0
    package private(set) var runs: [RunRecord] = []

    /// The status of a cache that is not there: it reads as an empty one.
    public init(emptyAt path: String) { self.path = path }

    init(of directory: CacheDirectory, index: CacheIndex?) throws(CacheError) {
        path = directory.path
        if let index { totals = try index.totals() }
        for name in CacheLayout.indexFiles {
            indexBytes += Int64(try directory.root.status(of: name)?.st_size ?? 0)
        }
        try ObjectTree(directory).walk(onRefusal: { _ in unreadable += 1 }) {
            (entry) throws(CacheError) in
            diskBytes += try entry.parent.status(of: entry.name)?.allocatedBytes ?? 0
        }
        temporaries = try directory.temporaries()
        if try directory.root.status(of: CacheLayout.quarantine)?.isDirectory == true {
            quarantined = try directory.root.directory(CacheLayout.quarantine).names().count
        }
        runs = RunRecord.Command.allCases.compactMap { RunRecord.load($0, from: directory) }
    }
}
