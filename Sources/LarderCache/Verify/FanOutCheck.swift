import Foundation
import LarderCore

/// Compares one fan-out directory with its rows.
struct FanOutCheck {
    enum Rows {
        case of(CacheIndex)
        case none
        /// The index cannot be read: all that can be said is whether objects have their digests.
        case unreadable
    }

    let byte: UInt8
    let directory: CacheDirectory
    let rows: Rows
    let options: VerifyOptions
    let onObject: (Int64) -> Void
    private(set) var isBrokenOff = false

    private let reader: ObjectReader
    private var report = VerifyReport()
    private var expected: [Digest: StoredObject] = [:]

    init(
        _ byte: UInt8, of directory: CacheDirectory, rows: Rows, options: VerifyOptions,
        onObject: @escaping (Int64) -> Void
    ) {
        self.byte = byte
        self.directory = directory
        self.rows = rows
        self.options = options
        self.onObject = onObject
        reader = ObjectReader(directory.sparse)
    }

    mutating func run(
        in tree: ObjectTree, root: FileDescriptor?
    ) throws(CacheError) -> VerifyReport {
        let name = ObjectTree.fanOut(byte)
        let isSelected = try options.selection.objects(byte)
        // Rows first: an object stored meanwhile then looks orphaned, and is asked for again.
        if case .of(let index) = rows {
            for object in try index.objects(fanOut: byte) where isSelected(object.digest) {
                expected[object.digest] = object
                report.indexBytes += object.size
            }
            report.indexObjects = expected.count
        }
        let place = try root?.status(of: name)
        if let root, place?.isDirectory == true {
            do throws(CacheError) {
                try tree.walk(fanOut: name, beneath: root) { (entry) throws(CacheError) in
                    if isBrokenOff || options.isCancelled() { return isBrokenOff = true }
                    guard let digest = entry.digest else { return try noteStray(entry) }
                    guard isSelected(digest) else { return }
                    try check(entry, digest, expected.removeValue(forKey: digest))
                }
            } catch  where error.errno == ENOENT {
                // Removed since it was looked at: its rows are asked for again below.
            } catch  where error.concernsFile {
                expected = [:]
                add(.unreadable, root.path(of: name), error.message)
            }
        } else if let root, place != nil,
            options.selection.includesStrays(byte) || !expected.isEmpty
        {
            let message = "is not a directory: no object can be stored here"
            add(.obstructed, root.path(of: name), message)
        }
        if isBrokenOff {
            // What was not looked at does not count.
            report.indexObjects -= expected.count
            for object in expected.values { report.indexBytes -= object.size }
        } else {
            try noteMissing()
        }
        return report
    }

    private mutating func check(
        _ entry: ObjectTree.Entry, _ digest: Digest, _ row: StoredObject?
    ) throws(CacheError) {
        do throws(CacheError) {
            guard let status = try entry.parent.status(of: entry.name) else { return }
            guard status.isRegularFile else {
                guard try isVouchedFor(digest, row) else {
                    // A directory would keep the object out; anything else gives way to it.
                    return add(
                        .foreign, entry.path, "is not a regular file",
                        status.isDirectory ? digest : nil)
                }
                return status.isLink
                    ? add(.link, entry.path, "is a link, which is never followed", digest)
                    : add(.corrupt, entry.path, "is not a regular file", digest)
            }
            report.treeObjects += 1
            report.treeBytes += Int64(status.st_size)
            report.objects += 1
            // If the sizes differ, the digest says whether the file or the index is wrong.
            if options.isQuick, row == nil || row?.size == Int64(status.st_size) {
                onObject(0)
                try judge(entry, digest, row, status, differs: nil)
            } else {
                let file = try entry.parent.file(entry.name)
                guard
                    let (actual, count) = try reader.digest(
                        file, expecting: digest, isCancelled: options.isCancelled)
                else { return breakOff(at: digest, row, status) }
                report.bytes += count
                onObject(count)
                try judge(entry, digest, row, status, differs: actual == digest ? nil : actual)
            }
        } catch  where error.errno == ENOENT {
            // Evicted while it was looked at.
        } catch  where error.isSparse {
            // Without a row it may be left from a crash. With one, nothing is known of its bytes.
            let isVouchedFor = try isVouchedFor(digest, row)
            let message = "\(error.message); larder verify --repair fetches it again"
            add(isVouchedFor ? .unreadable : .orphaned, entry.path, message, digest)
        } catch  where error.concernsFile {
            add(.unreadable, entry.path, error.message, digest)
        }
    }

    private mutating func breakOff(at digest: Digest, _ row: StoredObject?, _ status: stat) {
        isBrokenOff = true
        expected[digest] = row
        report.treeObjects -= 1
        report.treeBytes -= Int64(status.st_size)
        report.objects -= 1
    }

    /// - Parameter differs: the digest that the bytes have instead.
    private mutating func judge(
        _ entry: ObjectTree.Entry, _ digest: Digest, _ row: StoredObject?, _ status: stat,
        differs: Digest?
    ) throws(CacheError) {
        let size = Int64(status.st_size)
        guard try isVouchedFor(digest, row) else {
            // It was never vouched for: a crash may leave such a file.
            let more = differs == nil ? "" : ", and its bytes are not whole"
            return add(.orphaned, entry.path, "no row mentions it" + more, digest)
        }
        if let differs {
            add(.corrupt, entry.path, "the bytes have the digest \(differs.hex)", digest)
        } else if let row, row.size != size {
            let message = "the index states \(row.size) bytes, the file has \(size)"
            add(.index, entry.path, message, digest)
        } else {
            report.whole += 1
            let mode = status.st_mode & 0o7777
            if mode != 0o444 {
                add(.mode, entry.path, "has the mode 0\(String(mode, radix: 8))", digest)
            }
        }
    }

    private func isVouchedFor(_ digest: Digest, _ row: StoredObject?) throws(CacheError) -> Bool {
        if row != nil { return true }
        switch rows {
        case .of(let index): return try index.object(digest) != nil
        case .none: return false
        case .unreadable: return true
        }
    }

    private mutating func noteStray(_ entry: ObjectTree.Entry) throws(CacheError) {
        guard options.selection.includesStrays(byte) else { return }
        if let digest = entry.misplaced,
            try entry.parent.status(of: entry.name)?.isRegularFile == true
        {
            add(.misplaced, entry.path, "is an object of another directory", digest)
        } else {
            add(.foreign, entry.path, "is not the cache's own")
        }
    }

    /// A row whose file was not listed: gone, unless it was evicted since the rows were read.
    private mutating func noteMissing() throws(CacheError) {
        guard case .of(let index) = rows else { return }
        for object in expected.values {
            // The row again after the file: an eviction deletes the one and then removes the other.
            guard try index.object(object.digest) != nil,
                try directory.size(of: object.digest) == nil, try index.object(object.digest) != nil
            else { continue }
            add(.missing, object.path, "the file is not there", object.digest)
        }
    }

    private mutating func add(
        _ kind: VerifyReport.Finding.Kind, _ subject: String, _ message: String,
        _ digest: Digest? = nil
    ) {
        report.findings.append(.init(kind, subject, message, digest: digest))
    }
}

extension CacheError {
    /// Whether it tells of the file: a lack of descriptors or memory is the process's own.
    fileprivate var concernsFile: Bool {
        errno.map { ![EMFILE, ENFILE, ENOMEM].contains($0) } ?? false
    }
}

/// SQLite's own check of an index, on one more thread: it takes as long as reading small objects.
final class StructureCheck: @unchecked Sendable {
    // Unchecked because the state is variables: the checking thread's alone until `done` is
    // signalled, read after.
    private let done = DispatchSemaphore(value: 0)
    /// Nil after the check: a thread that takes time to end must not keep the index open.
    private var index: CacheIndex?
    private let options: VerifyOptions
    private var result = Result<[String], CacheError>.success([])
    private var seconds = 0.0
    private var hasThread = false

    init(of index: CacheIndex, _ options: VerifyOptions) {
        self.index = index
        self.options = options
        hasThread = HelperThread.start { [self] in
            run()
            done.signal()
        }
    }

    private func run() {
        let start = ContinuousClock.now
        result = Result { () throws(CacheError) in
            try index?.structuralComplaints(
                isQuick: options.isQuick, isCancelled: options.isCancelled) ?? []
        }
        seconds = (ContinuousClock.now - start) / .seconds(1)
        index = nil
    }

    /// Waits for the end; to be called once. Runs the check if it could have no thread.
    func wait() -> (complaints: Result<[String], CacheError>, seconds: Double) {
        if hasThread { done.wait() } else { run() }
        return (result, seconds)
    }
}
