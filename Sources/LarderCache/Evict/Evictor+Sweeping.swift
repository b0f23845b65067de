import Foundation
import GRDB
import LarderCore

extension Evictor {
    /// Removes leftover files that have not changed during the policy's grace period.
    mutating func sweep() throws {
        // Directories of runs need no grace period, because a lock shows whether a run has ended.
        report.swept[.runs] = try directory.sweepRuns(isDryRun: policy.isDryRun)
        report.swept[.partials] = try sweep([CacheLayout.temporary, CacheLayout.partial])
        report.swept[.temporaries] = try sweep([CacheLayout.temporary]) { name, status in
            !(status.isDirectory && (name.hasPrefix("run-") || name == CacheLayout.partial))
        }
        report.swept[.quarantined] = try sweep([CacheLayout.quarantine]) { name, _ in
            CacheDirectory.isQuarantined(name)
        }
        // Without an index, every object would look like an orphan.
        if let index { report.swept[.orphans] = try sweepOrphans(index) }
    }

    private func sweep(
        _ path: [String], where isOwn: (String, stat) -> Bool = { _, _ in true }
    ) throws(CacheError) -> ObjectTally {
        var tally = ObjectTally()
        do throws(CacheError) {
            var parent = directory.root
            for name in path { parent = try parent.directory(name) }
            for name in try parent.names() {
                if policy.isCancelled() { break }
                guard let status = try parent.status(of: name), isOwn(name, status), isOld(status)
                else { continue }
                let removed = try parent.removeTree(name, isDryRun: policy.isDryRun)
                if removed.isGone { tally.count += 1 }
                tally.bytes += removed.bytes
            }
        } catch  where error.isAbsence {}
        return tally
    }

    private func sweepOrphans(_ index: CacheIndex) throws -> ObjectTally {
        let removal = try ObjectRemoval(directory)
        var tally = ObjectTally()
        guard let root = try ObjectTree(directory).root() else { return tally }
        for byte in UInt8.min...UInt8.max where !policy.isCancelled() {
            let orphans = try orphans(byte, beneath: root, index)
            if policy.isDryRun {
                for orphan in orphans { tally.add(orphan.bytes) }
            } else {
                tally += try removal.removeFiles(
                    of: orphans.map(\.digest), in: index, where: isOld, unless: policy.isCancelled)
            }
        }
        return tally
    }

    /// Returns files without index rows. Skips young files, which may still get rows.
    private func orphans(
        _ byte: UInt8, beneath root: FileDescriptor, _ index: CacheIndex
    ) throws(CacheError) -> [(digest: Digest, bytes: Int64)] {
        let name = ObjectTree.fanOut(byte)
        guard try root.status(of: name)?.isDirectory == true else { return [] }
        let known = Set(try index.rows("o.digest", fanOut: byte) { try $0.requireDigest() })
        var orphans: [(digest: Digest, bytes: Int64)] = []
        do throws(CacheError) {
            try ObjectTree.walk(fanOut: name, beneath: root) { (entry) throws(CacheError) in
                guard let digest = entry.digest, !known.contains(digest),
                    let status = try entry.parent.status(of: entry.name), status.isRegularFile,
                    isOld(status)
                else { return }
                orphans.append((digest, status.freeableBytes))
            }
        } catch  where error.isOutOfReach {}
        return orphans
    }

    /// Whether a file is older than the grace period. A rename changes only the status change time.
    private var isOld: @Sendable (stat) -> Bool {
        { [limit = startDate.addingTimeInterval(-policy.grace)] status in
            [status.modified, status.changed].allSatisfy {
                Double($0.tv_sec) + Double($0.tv_nsec) / 1e9 <= limit.timeIntervalSince1970
            }
        }
    }
}
