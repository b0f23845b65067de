import Foundation
import LarderCore

struct FanOutCheck {
    let byte: UInt8
    let verifier: Verifier
    let reader: ObjectReader
    var wasCancelled = false
    var report = VerifyReport()
    var expected: [Digest: StoredObject] = [:]
    private var options: VerifyOptions { verifier.options }

    mutating func run(beneath root: FileDescriptor?) throws(CacheError) -> VerifyReport {
        let name = String.hex([byte])
        let isSelected = try options.selection.objects(byte)
        // Objects stored after this query look orphaned, so their rows are looked up again.
        if let index = verifier.index {
            for object in try index.objects(fanOut: byte) where isSelected(object.digest) {
                expected[object.digest] = object
                report.indexBytes += object.size
            }
            report.indexObjects = expected.count
        }
        let place = try root?.status(of: name)
        if let root, place?.isDirectory == true {
            do throws(CacheError) {
                try ObjectTree.walk(fanOut: name, beneath: root) { (entry) throws(CacheError) in
                    if wasCancelled || options.isCancelled() { return wasCancelled = true }
                    guard let digest = entry.digest else { return try noteStray(entry) }
                    guard isSelected(digest) else { return }
                    try check(entry, digest, expected.removeValue(forKey: digest))
                }
            } catch  where error.errno == ENOENT {
                // The directory was just removed. Its rows are looked up again below.
            } catch  where error.concernsFile {
                expected = [:]
                add(.unreadable, root.path(of: name), error.message)
            }
        } else if let root, place != nil,
            options.selection.includesStrays(byte) || !expected.isEmpty
        {
            let message = "is not a directory, so no object can be stored in it"
            add(.obstructed, root.path(of: name), message)
        }
        for object in expected.values where wasCancelled {
            report.indexObjects -= 1
            report.indexBytes -= object.size
        }
        for object in expected.values where !wasCancelled {
            // An eviction deletes an object's row before its file.
            guard let index = verifier.index, try index.object(object.digest) != nil,
                try verifier.directory.size(of: object.digest) == nil,
                try index.object(object.digest) != nil
            else { continue }
            add(.missing, object.path, "the file is missing", object.digest)
        }
        return report
    }

    private mutating func check(
        _ entry: ObjectTree.Entry, _ digest: Digest, _ row: StoredObject?
    ) throws(CacheError) {
        do throws(CacheError) {
            guard let status = try entry.parent.status(of: entry.name) else { return }
            guard status.isRegularFile else {
                guard try isIndexed(digest, row) else {
                    // Only a directory prevents storing the object later. Other files are replaced.
                    return add(
                        .foreign, entry.path, "is not a regular file",
                        status.isDirectory ? digest : nil)
                }
                return status.isLink
                    ? add(.link, entry.path, "is a link, which is never followed", digest)
                    : add(.corrupt, entry.path, "is not a regular file", digest)
            }
            report.objects += 1
            report.treeBytes += Int64(status.st_size)
            // If the sizes differ, the digest shows whether the file or the index is wrong.
            var read: (digest: Digest, count: Int64)? = (digest, 0)
            if !options.isQuick || row.map({ $0.size != Int64(status.st_size) }) ?? false {
                let file = try entry.parent.file(entry.name)
                read = try reader.digest(file, expecting: digest, isCancelled: options.isCancelled)
            }
            guard let read else {
                wasCancelled = true
                expected[digest] = row
                report.objects -= 1
                report.treeBytes -= Int64(status.st_size)
                return
            }
            report.bytes += read.count
            verifier.count(bytes: read.count)
            if try !isIndexed(digest, row) {
                // This is not corruption, because a crash may leave a file without a row.
                let more = read.digest == digest ? "" : ", and its bytes have a different digest"
                add(.orphaned, entry.path, "has no row in the index" + more, digest)
            } else if read.digest != digest {
                add(.corrupt, entry.path, "the bytes have the digest \(read.digest.hex)", digest)
            } else if let row, row.size != Int64(status.st_size) {
                let sizes = "\(row.size) bytes, but the file has \(status.st_size)"
                add(.index, entry.path, "the index states \(sizes)", digest)
            } else {
                report.whole += 1
                let mode = status.st_mode & 0o7777
                if mode == 0o444 { return }
                add(.mode, entry.path, "has the mode 0\(String(mode, radix: 8))", digest)
            }
        } catch  where error.errno == ENOENT {
            // The object was just evicted.
        } catch  where error.isSparse {
            let repair = Suggestion.command("verify --repair")
            add(
                try isIndexed(digest, row) ? .unreadable : .orphaned, entry.path,
                "\(error.message); to download it again: \(repair)", digest)
        } catch  where error.concernsFile {
            add(.unreadable, entry.path, error.message, digest)
        }
    }

    private func isIndexed(_ digest: Digest, _ row: StoredObject?) throws(CacheError) -> Bool {
        if row != nil { return true }
        // If rows cannot be read, only digests are checked.
        guard let index = verifier.index else { return verifier.isIndexUnreadable }
        return try index.object(digest) != nil
    }

    private mutating func noteStray(_ entry: ObjectTree.Entry) throws(CacheError) {
        guard options.selection.includesStrays(byte) else { return }
        if let digest = entry.misplaced,
            try entry.parent.status(of: entry.name)?.isRegularFile == true
        {
            add(.misplaced, entry.path, "belongs in another directory", digest)
        } else {
            add(.foreign, entry.path, "does not belong to the cache")
        }
    }

    private mutating func add(
        _ kind: VerifyReport.Finding.Kind, _ subject: String, _ message: String,
        _ digest: Digest? = nil
    ) { report.findings.append(.init(kind, subject, message, digest: digest)) }
}
