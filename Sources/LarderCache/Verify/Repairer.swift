import Foundation
import GRDB
import LarderCore

/// The repairs that need no network.
///
/// Bad files are moved before their rows are deleted. A crash in between leaves rows without files,
/// which the next repair or prefetch fixes. Every finding is checked again before and during the
/// transaction that deletes the rows, because other processes may have stored the object.
struct Repairer {
    /// The number of objects per transaction. It is small, because transactions block writers.
    private static let batch = 64

    let directory: CacheDirectory
    let index: CacheIndex
    let reader: ObjectReader

    /// Repairs findings. Returns the resources to download, whose findings count as lost.
    func repair(
        _ findings: inout [VerifyReport.Finding], isCancelled: () -> Bool
    ) throws(CacheError) -> [DroppedResource] {
        for position in findings.indices where !isCancelled() {
            do throws(CacheError) {
                switch findings[position].kind {
                case .misplaced: try moveHome(&findings[position])
                case .mode:
                    guard let digest = findings[position].digest,
                        try Self.makeReadOnly(directory.fanOut(digest).file(digest.hex))
                    else { continue }
                    findings[position].repair = .restored
                case .obstructed, .foreign: try clear(&findings[position])
                default: continue
                }
            } catch  where [EACCES, EPERM, EBUSY, ENOENT].contains(error.errno) || error.isSparse {
                // The file was removed, belongs to another user, or is too sparse to be read.
            }
        }
        let bad = findings.indices.filter {
            findings[$0].digest != nil
                && [.corrupt, .missing, .link, .index, .unreadable].contains(findings[$0].kind)
        }
        for start in stride(from: 0, to: bad.count, by: Self.batch) {
            let batch = bad[start..<min(start + Self.batch, bad.count)]
            try drop(batch, &findings, isCancelled)
        }
        if !isCancelled() { try repairIndex(&findings) }
        var damaged: [DroppedResource] = []
        var seen: Set<Digest?> = []
        for position in findings.indices where findings[position].kind.isCorruption {
            let finding = findings[position]
            // Manifest entries are skipped, because they may never have been cached.
            guard finding.digest != nil || finding.subject == CacheLayout.index,
                seen.insert(finding.digest).inserted
            else { continue }
            let resources = try index.damaged(finding.digest, finding: position)
            if !resources.isEmpty { findings[position].repair = .lost }
            damaged += resources
        }
        return damaged
    }

    /// The inode and size of an object's file. The size is nil if the file is not whole.
    private typealias Place = (inode: ino_t?, size: Int64?)

    private func drop(
        _ batch: ArraySlice<Int>, _ findings: inout [VerifyReport.Finding],
        _ isCancelled: () -> Bool
    ) throws(CacheError) {
        var suspects: [(Int, Digest, Place)] = []
        for position in batch where !isCancelled() {
            guard let digest = findings[position].digest else { continue }
            var place: Place
            do throws(CacheError) {
                place = try self.place(of: digest)
            } catch  where findings[position].kind == .unreadable {
                continue  // The bytes may be intact.
            }
            if place.size == nil, let inode = place.inode {
                findings[position].quarantine = try directory.quarantine(
                    digest.hex, from: directory.fanOut(digest), inode: inode)
                if findings[position].quarantine != nil { place.inode = nil }
            }
            suspects.append((position, digest, place))
        }
        guard !suspects.isEmpty else { return }
        var repairs: [Int: VerifyReport.Finding.Repair] = [:]
        try index.write { db in
            for (position, digest, place) in suspects {
                repairs[position] = .restored
                if let size = place.size {
                    try db.prepared("UPDATE objects SET size = ?1 WHERE digest = ?2 AND size <> ?1")
                        .run(size, digest)
                } else if try directory.status(of: digest)?.st_ino == place.inode {
                    try DroppedResource.keep(in: db, where: "o.digest = ?", digest)
                    try db.prepared("DELETE FROM objects WHERE digest = ?").run(digest)
                    repairs[position] = .removed
                }
            }
        }
        for (position, repair) in repairs { findings[position].repair = repair }
    }

    private func place(of digest: Digest) throws(CacheError) -> Place {
        guard let status = try directory.status(of: digest) else { return (nil, nil) }
        guard status.isRegularFile else { return (status.st_ino, nil) }
        do throws(CacheError) {
            let file = try directory.open(digest)
            let found = try file.status()
            let isWhole = try reader.digest(file, expecting: digest)?.digest == digest
            return (found.st_ino, isWhole ? Int64(found.st_size) : nil)
        } catch  where error.code == .corrupt || error.isSparse {
            // The file is sparse, missing or replaced. The transaction checks it again.
            return (status.st_ino, nil)
        }
    }

    private func repairIndex(_ findings: inout [VerifyReport.Finding]) throws(CacheError) {
        let damaged = findings.indices.filter {
            findings[$0].kind == .index && findings[$0].digest == nil
        }
        guard !damaged.isEmpty else { return }
        try index.write { db in
            try DroppedResource.keep(in: db, where: "o.id IS NULL")
            try db.execute(
                sql: "DELETE FROM resources WHERE object NOT IN (SELECT id FROM objects)")
        }
        // SQLite's other complaints cannot be repaired here.
        if try index.structuralComplaints().isEmpty {
            for position in damaged { findings[position].repair = .removed }
        }
    }

    /// Moves a misplaced object to its directory, or to quarantine if it is bad or a duplicate.
    private func moveHome(_ finding: inout VerifyReport.Finding) throws(CacheError) {
        guard let digest = finding.digest else { return }
        let objects = try directory.objects()
        let fanOut = String(finding.subject.split(separator: "/")[2])
        let parent = try objects.directory(fanOut)
        guard let status = try parent.status(of: digest.hex), status.isRegularFile else { return }
        if try place(of: digest).inode == nil {
            let file = try parent.file(digest.hex)
            if try reader.digest(file, expecting: digest)?.digest == digest {
                // An index row may exist, so the file must be durable.
                try Self.makeReadOnly(file)
                guard fsync(file.raw) == 0 else { throw file.failure("fsync") }
                let home = try objects.directory(CacheLayout.fanOut(digest), create: true)
                try parent.rename(digest.hex, to: home, as: digest.hex)
                guard fsync(home.raw) == 0 else { throw home.failure("fsync") }
                finding.repair = .restored
                return
            }
        }
        finding.quarantine = try directory.quarantine(
            digest.hex, from: parent, inode: status.st_ino)
        finding.repair = .removed
    }

    private func clear(_ finding: inout VerifyReport.Finding) throws(CacheError) {
        var parent = try directory.objects()
        var name = String(finding.subject.suffix(2))
        let isForObjects = finding.kind == .obstructed
        if !isForObjects {
            guard let digest = finding.digest else { return }
            (parent, name) = (try directory.fanOut(digest), digest.hex)
        }
        guard let status = try parent.status(of: name), status.isDirectory != isForObjects
        else { return }
        finding.quarantine = try directory.quarantine(name, from: parent, inode: status.st_ino)
        finding.repair = .removed
    }

    @discardableResult
    private static func makeReadOnly(_ file: FileDescriptor) throws(CacheError) -> Bool {
        guard try file.status().st_nlink == 1 else { return false }
        try file.setMode(0o444)
        return true
    }
}
