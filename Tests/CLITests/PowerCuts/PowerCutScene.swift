import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import Synchronization

/// A cache on its own disk, whose power is cut repeatedly.
struct PowerCutScene {
    /// The command that runs when the power is cut.
    enum Command: String { case prefetch, repair, evict, reindex }

    /// A full batch and a partial one.
    private static let entries = Store.batchLimit + 60

    private let larder: CLIFixture
    private let disk: LoopDisk
    private let job: KillJob
    private let manifest: String
    /// The duration of each command without a power cut, in seconds.
    private var lives: [Command: Double] = [:]
    private(set) var tally = PowerCutTally()

    init(_ kind: LoopDisk.Kind, in directory: TemporaryDirectory) throws {
        larder = try CLIFixture(directory)
        disk = try LoopDisk(kind, at: directory.path("disk"))
        job = try KillJob(entries: Self.entries)
        manifest = directory.path("all.json")
        try job.writeManifest(to: manifest)
        try finish(after: .prefetch)
        // Measures the durations without power cuts.
        for command in [Command.reindex, .repair, .evict] {
            _ = try prepare(command, count: Self.entries / 2)
            lives[command] = try run(arguments(command, count: Self.entries / 2))
            try finish(after: command)
        }
    }

    /// Cuts the power once, checks the cache, and completes the job with another run.
    mutating func cut(using random: inout Pseudorandom) throws {
        let command: Command =
            switch random.next(below: 20) {
            case 0: .reindex
            case 1: .repair
            case 2: .evict
            default: .prefetch
            }
        // Starts without a cache or with a part of it. The last round has left all entries.
        let count = random.next(below: 2) == 0 ? 0 : random.next(below: Self.entries - 50)
        let moment = Moment(of: command, life: lives[command] ?? 1, count: count, using: &random)
        do {
            let scene = try prepare(command, count: count)
            let cut = try run(arguments(command, count: count), until: moment)
            try disk.restart()
            let left = try examine(command, scene, count: count, cut)
            try finish(after: command)
            tally.cuts += 1
            tally.commands[command, default: 0] += 1
            tally.late += cut.isLate ? 1 : 0
            tally.insideCommits += left.hasOrphans && command == .prefetch ? 1 : 0
            let isBetween = left.rows > scene.kept.count && left.rows < Self.entries
            tally.betweenCommits += isBetween && command == .prefetch ? 1 : 0
            tally.acknowledged += left.acknowledged
            tally.rows += left.rows
        } catch {
            throw BrokenPromise("\(command) with \(count) entries, cut \(moment): \(error)")
        }
    }

    mutating func record(_ failure: String) {
        tally.failures.append(failure)
        // The next round starts with a new cache, so that it does not fail for the same reason.
        try? disk.restart()
        try? FileManager.default.removeItem(atPath: cache)
        try? finish(after: .prefetch)
    }

    // MARK: - Steps

    private var cache: String { disk.path + "/cache" }

    /// The state of the cache at the start of a round.
    private struct Beginning {
        /// The URLs whose rows must not be lost.
        var kept: Set<String> = []
        var damaged: Set<Digest> = []
    }

    private func prepare(_ command: Command, count: Int) throws -> Beginning {
        var beginning = Beginning()
        try? FileManager.default.removeItem(atPath: report)
        if command == .prefetch {
            if count == 0 {
                try? FileManager.default.removeItem(atPath: cache)
                return beginning
            }
            try run(arguments(.evict, count: count))
        }
        let cache = try Cache.open(at: cache)
        defer { cache.close() }
        beginning.kept = try rightRows(of: cache)
        if command == .evict { beginning.kept = [] }
        if command == .repair {
            try cache.forEachResource { resource in
                let object = resource.object.digest
                guard object.bytes[0] < 16 else { return }
                let path = cache.absolutePath(of: object)
                try larder.overwrite(path, with: [0])
                beginning.damaged.insert(object)
                beginning.kept.remove(resource.url)
            }
        }
        return beginning
    }

    private var report: String { larder.directory.path("report") }

    private func arguments(_ command: Command, count: Int) -> [String] {
        let cache = ["--cache", cache, "--quiet"]
        return switch command {
        case .prefetch:
            ["prefetch", manifest, "--allow-private-network", "--report", report] + cache
        case .repair: ["verify", "--repair", "--allow-private-network"] + cache
        case .evict: ["evict", "--grace", "0", "--max-count", "\(count)"] + cache
        case .reindex: ["reindex"] + cache
        }
    }

    /// Runs a command to the end, and returns its duration in seconds.
    @discardableResult
    private func run(_ arguments: [String]) throws -> Double {
        job.begin()
        let finished = try larder.binary.run(arguments)
        guard finished.status == 0 else { throw BrokenPromise("\(arguments[0]): \(finished)") }
        return finished.duration / .seconds(1)
    }

    private struct Cut {
        /// Whether the command had ended.
        let isLate: Bool
        /// The URLs that the report listed as stored.
        let stored: Set<String>
    }

    /// Runs a command, cuts the power, and waits until the command ends.
    private func run(_ arguments: [String], until moment: Moment) throws -> Cut {
        job.begin()
        let isCut = CutOnce(disk, report: report)
        let process = try larder.binary.start(arguments)
        @Sendable func cut(after seconds: Double) {
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { isCut.cut() }
        }
        switch moment {
        case .elapsed(let seconds): cut(after: seconds)
        case .requests(let count, let seconds): job.script.at(count) { cut(after: seconds) }
        }
        let finished = try process.wait()
        let isLate = isCut.cut()
        guard finished.status == 74 || finished.status == 0 else {
            throw BrokenPromise("status \(finished.status): \(finished)")
        }
        return Cut(isLate: isLate, stored: try isCut.report.stored)
    }

    private struct Remains {
        var rows = 0
        var acknowledged = 0
        var hasOrphans = false
    }

    private func examine(
        _ command: Command, _ beginning: Beginning, count: Int, _ cut: Cut
    ) throws -> Remains {
        var remains = Remains()
        let stored = cut.stored.union(beginning.kept)
        remains.acknowledged = stored.count
        guard FileManager.default.fileExists(atPath: cache) else {
            guard stored.isEmpty else { throw BrokenPromise("the cache is gone") }
            return remains
        }
        let cache = try Cache.open(at: cache)
        defer { cache.close() }
        let verification = try cache.verify()
        let broken = verification.findings.filter { finding in
            finding.kind.isCorruption && !(finding.digest.map(beginning.damaged.contains) ?? false)
        }
        guard broken.isEmpty else {
            throw BrokenPromise("\(broken.count) broken rows: \(broken.prefix(3))")
        }
        remains.hasOrphans = verification.count(.orphaned) > 0
        let rows = try rightRows(of: cache, except: beginning.damaged)
        remains.rows = rows.count
        let lost = stored.subtracting(rows)
        guard lost.isEmpty else {
            throw BrokenPromise("\(lost.count) of \(stored.count) acknowledged URLs are lost")
        }
        if command == .evict, cut.isLate, try cache.status().totals.objects > count {
            throw BrokenPromise("evicted objects are back")
        }
        return remains
    }

    private func rightRows(
        of cache: Cache, except damaged: Set<Digest> = []
    ) throws -> Set<String> {
        var rows: Set<String> = []
        try cache.forEachResource { resource in
            guard !damaged.contains(resource.object.digest) else { return }
            guard try cache.bytes(of: resource.object) == job.bytes[resource.url] else {
                throw BrokenPromise("\(resource.url) has other bytes than its origin's")
            }
            rows.insert(resource.url)
        }
        return rows
    }

    /// Repairs and completes the cache. Nothing may remain in `tmp/`.
    private mutating func finish(after command: Command) throws {
        if command == .repair { try run(arguments(.repair, count: 0)) }
        lives[.prefetch] = try run(arguments(.prefetch, count: 0))
        let cache = try Cache.open(at: cache)
        defer { cache.close() }
        guard try rightRows(of: cache).count == Self.entries else {
            throw BrokenPromise("the next run did not finish the job")
        }
        guard try cache.status().temporaries == 0 else { throw BrokenPromise("tmp/ is not empty") }
    }
}

extension PowerCutScene {
    fileprivate enum Moment: CustomStringConvertible {
        case elapsed(Double)
        case requests(Int, thenSeconds: Double)

        /// Draws a random moment. For a prefetch, half of the moments are shortly after a request
        /// that leads to a commit.
        init(
            of command: Command, life: Double, count: Int, using random: inout Pseudorandom
        ) {
            let missing = PowerCutScene.entries - count
            guard command == .prefetch, random.next(below: 2) == 0 else {
                self = .elapsed(.random(in: 0...life, using: &random))
                return
            }
            let commits = [Store.batchLimit, missing].filter { $0 <= missing }
            self = .requests(
                commits[random.next(below: commits.count)],
                thenSeconds: .random(in: 0...life / 8, using: &random))
        }

        var description: String {
            switch self {
            case .elapsed(let seconds): "\(seconds) s after its start"
            case .requests(let count, let seconds): "\(seconds) s after request \(count)"
            }
        }
    }

    /// Cuts a disk's power at most once, even if several threads call it.
    private final class CutOnce: Sendable {
        private let disk: LoopDisk
        private let path: String
        private let reported = Mutex<Data?>(nil)

        init(_ disk: LoopDisk, report path: String) {
            self.disk = disk
            self.path = path
        }

        /// Returns whether this call cut the power.
        @discardableResult
        func cut() -> Bool {
            reported.withLock { reported in
                guard reported == nil else { return false }
                // The report is read before the cut. After a real one, nothing is reported. Linux
                // (6.18) instead lets a sync in progress succeed and loses its data, in one of five
                // cuts on ext4 and one of twelve on XFS.
                reported = FileManager.default.contents(atPath: path) ?? Data()
                disk.cutPower()
                return true
            }
        }

        /// The run's report at the time of the cut.
        var report: KillReport {
            get throws { try KillReport(reported.withLock { $0 } ?? Data()) }
        }
    }
}
