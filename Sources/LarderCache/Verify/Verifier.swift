import Foundation

/// Re-reads every object and checks every row, on all cores.
final class Verifier: @unchecked Sendable {
    // Unchecked because `report` is a variable; every access from the parallel part holds `lock`.
    private let directory: CacheDirectory
    private let index: CacheIndex?
    private let onProgress: @Sendable (Int, Int) -> Void
    private let lock = NSLock()
    private var report = VerifyReport()
    private var failure: CacheError?

    init(
        directory: CacheDirectory, index: CacheIndex?,
        onProgress: @escaping @Sendable (Int, Int) -> Void
    ) {
        self.directory = directory
        self.index = index
        self.onProgress = onProgress
    }

    func run() throws(CacheError) -> VerifyReport {
        let start = ContinuousClock.now
        try checkIndex()
        try checkObjects()
        try nameResources()
        report.findings.sort { ($0.subject, $0.kind.rawValue) < ($1.subject, $1.kind.rawValue) }
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return report
    }

    private func checkIndex() throws(CacheError) {
        report.temporaries = try directory.temporaries()
        guard let index else { return }
        for complaint in try index.structuralComplaints() {
            report.findings.append(
                .init(kind: .index, subject: CacheLayout.index, message: complaint))
        }
        report.resources = try index.totals().resources
    }

    /// Each fan-out directory is read and compared with its rows by itself.
    private func checkObjects() throws(CacheError) {
        let tree = ObjectTree(directory)
        let root = try tree.root()
        let expected = try index?.totals().objects ?? 0
        DispatchQueue.concurrentPerform(iterations: 256) { byte in
            do throws(CacheError) {
                try check(fanOut: UInt8(byte), in: tree, root: root, of: expected)
            } catch {
                lock.withLock { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
        guard let root else { return }
        for name in try root.names(subject: "objects/sha256") {
            if ObjectTree.isFanOut(name), try root.status(of: name)?.isDirectory == true {
                continue
            }
            report.findings.append(
                .init(
                    kind: .foreign, subject: "objects/sha256/\(name)",
                    message: "is not the cache's own"))
        }
    }

    private func check(
        fanOut byte: UInt8, in tree: ObjectTree, root: FileDescriptor?, of expected: Int
    ) throws(CacheError) {
        let name = (byte < 16 ? "0" : "") + String(byte, radix: 16)
        // Rows first: an object that is stored meanwhile is then an orphan at worst, asked for
        // again below, and never a missing one.
        var rows: [Digest: StoredObject] = [:]
        for object in try index?.objects(fanOut: byte) ?? [] { rows[object.digest] = object }

        var found: VerifyReport = VerifyReport()
        if let root, try root.status(of: name)?.isDirectory == true {
            do throws(CacheError) {
                try tree.walk(fanOut: name, beneath: root) { (entry) throws(CacheError) in
                    guard let digest = entry.digest else {
                        found.findings.append(
                            .init(
                                kind: entry.misplaced == nil ? .foreign : .misplaced,
                                subject: entry.path, message: "is not an object of this directory"))
                        return
                    }
                    try check(entry, digest: digest, row: rows.removeValue(forKey: digest), &found)
                }
            } catch  where error.errno == ENOENT {
                // Removed since it was looked at: its rows are asked for again below.
            } catch  where error.concernsFile {
                rows = [:]
                found.findings.append(
                    .init(
                        kind: .unreadable, subject: "objects/sha256/\(name)",
                        message: error.message))
            }
        }
        // A row whose file was not listed: gone, unless it was evicted since the rows were read.
        for object in rows.values {
            guard try index?.object(object.digest) != nil,
                try directory.size(of: object.digest) == nil
            else { continue }
            found.findings.append(
                .init(kind: .missing, subject: object.path, message: "the file is not there"))
        }
        let soFar = lock.withLock {
            report.objects += found.objects
            report.bytes += found.bytes
            report.whole += found.whole
            report.findings += found.findings
            return report.objects
        }
        onProgress(soFar, expected)
    }

    private func check(
        _ entry: ObjectTree.Entry, digest: Digest, row: StoredObject?, _ found: inout VerifyReport
    ) throws(CacheError) {
        func add(_ kind: VerifyReport.Finding.Kind, _ message: String) {
            found.findings.append(.init(kind: kind, subject: entry.path, message: message))
        }
        do throws(CacheError) {
            guard let status = try entry.parent.status(of: entry.name) else { return }
            guard status.isRegularFile else {
                return add(row == nil ? .foreign : .corrupt, "is not a regular file")
            }
            let file = try FileDescriptor.open(
                entry.name, beneath: entry.parent, flags: O_RDONLY | O_NONBLOCK)
            found.objects += 1
            let actual = try ObjectReader.digest(file, subject: entry.path)
            found.bytes += Int64(status.st_size)
            var isVouchedFor = row != nil
            if !isVouchedFor { isVouchedFor = try index?.object(digest) != nil }
            if actual != digest {
                // Without a row it was never vouched for: a crash may leave such a file.
                if isVouchedFor {
                    add(.corrupt, "the bytes have the digest \(actual.hex)")
                } else {
                    add(.orphaned, "no row mentions it, and its bytes are not whole")
                }
            } else if let row, row.size != Int64(status.st_size) {
                add(.index, "the index states \(row.size) bytes, the file has \(status.st_size)")
            } else if !isVouchedFor {
                add(.orphaned, "no row mentions it")
            } else {
                found.whole += 1
            }
        } catch  where error.errno == ENOENT {
            // Evicted while it was looked at.
        } catch  where error.concernsFile {
            add(.unreadable, error.message)
        }
    }

    private func nameResources() throws(CacheError) {
        for (position, finding) in report.findings.enumerated() where finding.kind.isCorruption {
            guard let digest = Digest(hex: finding.subject.suffix(Digest.byteCount * 2)) else {
                continue
            }
            report.findings[position].urls = try index?.keys(of: digest) ?? []
        }
    }
}

extension CacheError {
    /// Whether it tells of the file: a lack of descriptors or memory is the process's own.
    fileprivate var concernsFile: Bool {
        errno.map { ![EMFILE, ENFILE, ENOMEM].contains($0) } ?? false
    }
}
