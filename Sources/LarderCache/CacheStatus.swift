import Foundation

/// The contents of a cache, as counts and sizes.
public struct CacheStatus: Sendable {
    /// The absolute path of the root.
    public let path: String
    /// The counts from the index.
    public private(set) var totals = IndexTotals()
    /// The size of the index files in bytes.
    public private(set) var indexBytes: Int64 = 0
    /// The allocated disk space of the object files in bytes.
    public private(set) var diskBytes: Int64 = 0
    /// The number of runs in progress and leftovers in `tmp/`.
    public private(set) var temporaries = 0
    /// The number of files in `quarantine/`.
    public private(set) var quarantined = 0
    /// The number of object directories without read permission, which ``diskBytes`` excludes.
    public private(set) var unreadable = 0
    package private(set) var runs: [RunRecord] = []

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
