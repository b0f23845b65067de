import Foundation

/// What a cache holds, counted and not estimated.
public struct CacheStatus: Sendable {
    /// The root's absolute path.
    public let path: String
    /// The index's counts.
    public let totals: IndexTotals
    /// What the index and its companions take on disk, in bytes.
    public let indexBytes: Int64
    /// What the object files take on disk, in bytes of allocated blocks.
    public let diskBytes: Int64
    /// Entries in `tmp/`: runs that are under way, or leftovers of dead ones.
    public let temporaries: Int
    /// Files in `quarantine/`.
    public let quarantined: Int
    /// Fan-out directories that may not be entered: ``diskBytes`` lacks what is in them.
    public let unreadable: Int
    /// The last run of each command that has one.
    package let runs: [RunRecord]

    /// The status of a cache that is not there: it reads as an empty one.
    public init(emptyAt path: String) {
        self.path = path
        totals = IndexTotals()
        indexBytes = 0
        diskBytes = 0
        temporaries = 0
        quarantined = 0
        unreadable = 0
        runs = []
    }

    init(of directory: CacheDirectory, index: CacheIndex?) throws(CacheError) {
        path = directory.path
        totals = try index?.totals() ?? IndexTotals()
        var indexBytes: Int64 = 0
        for name in CacheLayout.indexFiles {
            indexBytes += Int64(try directory.root.status(of: name)?.st_size ?? 0)
        }
        self.indexBytes = indexBytes
        var diskBytes: Int64 = 0
        var unreadable = 0
        try ObjectTree(directory).walk(onRefusal: { _ in unreadable += 1 }) {
            (entry) throws(CacheError) in
            diskBytes += try entry.parent.status(of: entry.name)?.allocatedBytes ?? 0
        }
        self.diskBytes = diskBytes
        self.unreadable = unreadable
        temporaries = try directory.temporaries()
        if try directory.root.status(of: CacheLayout.quarantine)?.isDirectory == true {
            quarantined = try directory.root.directory(CacheLayout.quarantine).names().count
        } else {
            quarantined = 0
        }
        runs = RunRecord.Command.allCases.compactMap { RunRecord.load($0, from: directory) }
    }
}
