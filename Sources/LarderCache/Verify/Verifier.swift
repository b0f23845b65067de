import Foundation
import LarderCore

final class Verifier: @unchecked Sendable {
    // Unchecked because `lock` guards the variables that threads share.
    let directory: CacheDirectory
    private(set) var index: CacheIndex?
    private(set) var isIndexUnreadable = false
    let options: VerifyOptions
    private let onProgress: @Sendable (ObjectProgress) -> Void
    private let lock = NSLock()
    private var report = VerifyReport()
    private var failure: CacheError?
    /// A disk error during the check of the index, which does not end the check of the objects.
    private var indexFailure: CacheError?
    /// The leading bytes of the directories to check. The first `next` of them are taken.
    private var leadingBytes: [UInt8] = []
    private var next = 0
    private var done = VerifyPosition()
    private var deadline: ContinuousClock.Instant?
    private var progress = ObjectProgress()
    private var start = ContinuousClock.now
    private var lastShown = ContinuousClock.now

    init(
        directory: CacheDirectory, index: CacheIndex?, damage: CacheError?, options: VerifyOptions,
        onProgress: @escaping @Sendable (ObjectProgress) -> Void
    ) {
        (self.directory, self.index) = (directory, index)
        (self.options, self.onProgress) = (options, onProgress)
        if let damage { giveUpIndex(damage) }
    }

    func run() throws(CacheError) -> VerifyReport {
        do throws(CacheError) {
            try readTotals()
            try checkObjects()
            try nameResources()
        } catch  where error.code == .storage {
            report.failure = error
            report.reachesEnd = false
        }
        report.sort()
        return report
    }

    private func readTotals() throws(CacheError) {
        report.isQuick = options.isQuick
        let temporaries = try directory.temporaries()
        report.temporaries = temporaries.count
        report.leftovers = temporaries.count { parent, name in
            guard let run = try? parent.directory(name) else {
                return (try? parent.status(of: name)) != nil
            }
            return flock(run.raw, LOCK_EX | LOCK_NB) == 0
        }
        guard let index else { return }
        do throws(CacheError) {
            let totals = try index.totals()
            report.resources = totals.resources
            if case .all = options.selection, options.maximumDuration == nil {
                progress.total = totals.objects
            }
        } catch  where error.isDamage { giveUpIndex(error) }
    }

    private func checkObjects() throws(CacheError) {
        let start = ContinuousClock.now
        defer { report.note(.objects, since: start) }
        let name = options.maximumDuration == nil ? nil : options.positionName
        guard name == nil || directory.isWritable else {
            throw CacheError(
                unusable: directory.path,
                "is read-only; a time-limited verification cannot save its position")
        }
        let position = name.map { VerifyPosition($0, in: directory) } ?? VerifyPosition()
        let before = report
        do throws(CacheError) { try walk(from: position) } catch  where error.isDamage {
            report = before
            giveUpIndex(error)
            try walk(from: position)
        }
        if let name {
            try (report.reachesEnd ? VerifyPosition() : done).save(as: name, in: directory)
        }
        showProgress()
    }

    /// Checks the objects on all cores. Checking the index takes as long, so it adds a thread.
    private func walk(from position: VerifyPosition) throws(CacheError) {
        let root = try ObjectTree(directory).root()
        leadingBytes = (UInt8.min...UInt8.max).filter {
            options.selection.touches($0) && !position.contains($0)
        }
        (next, done, failure, indexFailure) = (0, position, nil, nil)
        (progress.objects, progress.bytes, progress.findings) = (0, 0, 0)
        start = .now
        deadline = options.maximumDuration.map { start + $0 }
        HelperThread.share(ProcessInfo.processInfo.activeProcessorCount + 1) { [self] number in
            do throws(CacheError) {
                if number == 0 { try checkStructure() }
                while let byte = lock.withLock({ takeDirectory() }) {
                    try check(byte, beneath: root)
                }
            } catch { lock.withLock { failure = failure ?? error } }
        }
        if let failure { throw failure }
        report.isResumed = !position.isEmpty
        report.reachesEnd = leadingBytes.allSatisfy(done.contains)
        if let root, position.isEmpty { try noteStrays(in: root) }
        if let indexFailure { throw indexFailure }
    }

    private func checkStructure() throws(CacheError) {
        guard let index else { return }
        let start = ContinuousClock.now
        let found: [String]
        do throws(CacheError) {
            found = try index.structuralComplaints(
                isQuick: options.isQuick, isCancelled: options.isCancelled)
        } catch {
            guard error.code == .storage else { throw error }
            return lock.withLock { indexFailure = error }
        }
        lock.withLock {
            report.steps[.index] = (ContinuousClock.now - start) / .seconds(1)
            report.findings += found.map { VerifyReport.Finding(.index, CacheLayout.index, $0) }
        }
    }

    private func takeDirectory() -> UInt8? {
        guard next < leadingBytes.count, failure == nil else { return nil }
        if options.isCancelled() {
            report.isInterrupted = true
            return nil
        }
        if let deadline, next > 0, .now >= deadline { return nil }
        defer { next += 1 }
        return leadingBytes[next]
    }

    private func check(_ byte: UInt8, beneath root: FileDescriptor?) throws(CacheError) {
        var check = FanOutCheck(byte: byte, verifier: self, reader: ObjectReader(directory.sparse))
        let found = try check.run(beneath: root)
        lock.withLock {
            report.add(found)
            if check.wasCancelled { report.isInterrupted = true } else { done.insert(byte) }
            progress.findings = report.findings.count
        }
    }

    private func noteStrays(in root: FileDescriptor) throws(CacheError) {
        guard options.selection.includesStrays(0) else { return }
        let objects = try directory.root.directory(CacheLayout.objects)
        let strays =
            try objects.names().filter { $0 != CacheLayout.algorithm }.map(objects.path(of:))
            + root.names().filter { !$0.isHex(2) }.map(root.path(of:))
        report.findings += strays.map {
            VerifyReport.Finding(.foreign, $0, "does not belong to the cache")
        }
    }

    private func nameResources() throws(CacheError) {
        let start = ContinuousClock.now
        defer { report.note(.resources, since: start) }
        guard let index else { return }
        var known: [Digest: Int] = [:]
        for (position, finding) in report.findings.enumerated() where finding.kind.isCorruption {
            guard let digest = finding.digest else { continue }
            report.findings[position].urls = try index.keys(of: digest)
            known[digest] = known[digest] ?? position
        }
        if report.isInterrupted { return }
        // With named objects, the caller adds the findings of damaged resources.
        if case .named = options.selection { return }
        for digest in try index.damagedDigests() {
            if let digest {
                guard try options.selection.objects(digest.firstByte)(digest) else { continue }
            } else if !options.selection.includesStrays(0) {
                continue
            }
            let urls = try index.damaged(digest, finding: 0).map(\.key)
            if let position = digest.flatMap({ known[$0] }) {
                report.findings[position].urls += urls
            } else {
                report.findings.append(.init(damaged: digest, urls: urls))
            }
        }
    }

    private func giveUpIndex(_ damage: CacheError) {
        (index, isIndexUnreadable) = (nil, true)
        progress.total = nil
        report.resources = 0
        report.findings.append(.init(.index, CacheLayout.index, damage.message))
    }

    func count(bytes: Int64) {
        let isDue = lock.withLock {
            progress.objects += 1
            progress.bytes += bytes
            guard ContinuousClock.now - lastShown > .milliseconds(200) else { return false }
            lastShown = .now
            return true
        }
        if isDue { showProgress() }
    }

    private func showProgress() {
        let shown = lock.withLock {
            progress.seconds = (ContinuousClock.now - start) / .seconds(1)
            return progress
        }
        onProgress(shown)
    }
}
