import Foundation
import LarderCache
import LarderTestSupport
import Testing

/// A prefetch that is killed repeatedly, with a job and base caches.
struct PrefetchKills {
    /// The random choices for a round.
    private struct Round {
        /// The number of tenths of the job that are in the base cache.
        let tenths: Int
        let cached: Set<String>
        /// The number of requests before the origin pauses, or nil if it never pauses.
        let wave: Int?
        let moment: KillMoment
    }

    private let stage: KillStage
    private let entries: Int
    /// The URLs in each base cache, by its number of tenths of the job.
    private var cached: [Int: Set<String>] = [0: []]
    /// The number of calls that change each base cache, by its number of tenths.
    private var calls: [Int: Int] = [:]
    private var pace: KillPace

    /// Fills the base caches and measures the job.
    init(in directory: TemporaryDirectory, entries: Int) throws {
        self.entries = entries
        stage = try KillStage(in: directory, entries: entries)
        pace = try #require(try Self.run(stage))
        for tenths in [3, 7] {
            let manifest = directory.path("\(tenths).json")
            cached[tenths] = try stage.job.writeManifest(to: manifest) { $0 * 7 % 10 < tenths }
            try stage.fill("\(tenths)", from: manifest)
        }
        for tenths in cached.keys {
            try stage.restore(Self.base(tenths))
            calls[tenths] = try stage.measure(stage.prefetch(stage.manifest)).calls
        }
    }

    /// Returns the name of the base cache with this number of tenths, or nil for no cache.
    private static func base(_ tenths: Int) -> String? { tenths > 0 ? "\(tenths)" : nil }

    /// Kills the prefetch once, checks the cache, and completes the job with another run.
    mutating func round(using random: inout Pseudorandom) throws -> KillTally {
        let round = draw(using: &random)
        do {
            try prepare(round)
            let (stored, isLate) = try kill(at: round.moment)
            let left = try examine()
            let lost = stored.subtracting(left.rows)
            guard lost.isEmpty else { throw BrokenPromise("reported but lost: \(lost)") }
            try finish(after: left.rows)
            var tally = tally(left, round, isLate: isLate)
            tally.reported = !isLate && !stored.isSubset(of: round.cached) ? 1 : 0
            return tally
        } catch {
            throw BrokenPromise(
                "\(round.cached.count) of \(entries) URLs cached before, killed \(round.moment): "
                    + "\(error)")
        }
    }

    private func draw(using random: inout Pseudorandom) -> Round {
        let tenths = [0, 0, 3, 7][Int.random(in: 0..<4, using: &random)]
        let cached = cached[tenths] ?? []
        let requests = entries - cached.count
        var seconds = pace.seconds(requests: requests)
        var commits = [KillMoment.requests(requests, thenSeconds: 0)]
        if requests > Store.batchLimit {
            commits.append(.requests(Store.batchLimit, thenSeconds: 0))
        }
        var wave: Int?
        if entries < Store.batchLimit, Bool.random(using: &random) {
            wave = requests / 2
            seconds += Store.batchInterval
            // The first body starts the batch's clock. Its report follows within 0.2 s.
            commits = [0, 0.2].map { .requests(1, thenSeconds: Store.batchInterval + $0) }
        }
        let moment: KillMoment =
            if let calls = calls[tenths], random.next(below: 3) == 0 {
                .call(.random(in: 1...calls, using: &random))
            } else {
                .random(
                    requests: requests, seconds: seconds, commits: commits, spread: pace.end,
                    using: &random)
            }
        return Round(tenths: tenths, cached: cached, wave: wave, moment: moment)
    }

    // MARK: - Steps

    private var report: String { stage.directory.path("report") }

    private func prepare(_ round: Round) throws {
        try? FileManager.default.removeItem(atPath: report)
        try stage.restore(Self.base(round.tenths), wave: round.wave)
    }

    /// Returns the URLs that the run's report listed as stored, and whether the run had already
    /// ended.
    private func kill(at moment: KillMoment) throws -> (stored: Set<String>, isLate: Bool) {
        let arguments = stage.prefetch(stage.manifest) + ["--report", report]
        let isLate = try stage.kill(arguments, at: moment)
        return (try KillReport(path: report).stored, isLate)
    }

    private struct Remains {
        var rows: Set<String> = []
        var orphans = 0
        var hasCache = false
    }

    /// Expects that the cache opens and is clean, and that each row has the origin's bytes.
    private func examine() throws -> Remains {
        var remains = Remains()
        do {
            let cache = try Cache.open(at: stage.cache)
            let report = try cache.verify()
            guard report.isClean else { throw BrokenPromise("verify: \(report.findings)") }
            remains.orphans = report.count(.orphaned)
            remains.hasCache = true
            remains.rows = try stage.job.rightRows(of: cache)
        } catch let error as CacheError where error.code == .missing {
            // The run was killed before it created the directory.
        }
        return remains
    }

    /// Expects that the next run requests each missing icon once, and nothing else.
    private mutating func finish(after rows: Set<String>) throws {
        if let latest = try Self.run(stage) { pace.follow(latest) }
        let missing = Set(stage.job.bytes.keys).subtracting(rows)
        let requests = stage.job.requests
        guard requests == Dictionary(uniqueKeysWithValues: missing.map { ($0, 1) }) else {
            let wrong = requests.filter { !missing.contains($0.key) || $0.value != 1 }
            throw BrokenPromise(
                "the next run requested \(wrong), but not "
                    + "\(missing.subtracting(requests.keys))")
        }
        let cache = try Cache.open(at: stage.cache)
        guard try stage.job.rightRows(of: cache).count == entries else {
            throw BrokenPromise("the next run did not finish the job")
        }
        let report = try cache.verify()
        // The next run adopts every object that the killed run left without a row.
        guard report.whole == stage.job.objects, report.findings.isEmpty, report.temporaries == 0
        else { throw BrokenPromise("after the next run: \(report)") }
    }

    private func tally(_ left: Remains, _ round: Round, isLate: Bool) -> KillTally {
        let rows = left.rows.count - round.cached.count
        let all = entries - round.cached.count
        var tally = KillTally()
        tally.rounds = 1
        tally.withoutCache = left.hasCache ? 0 : 1
        tally.insideCommits = left.orphans > 0 ? 1 : 0
        tally.late = isLate ? 1 : 0
        tally.beforeCommits = rows == 0 ? 1 : 0
        tally.betweenCommits = rows > 0 && rows < all ? 1 : 0
        tally.afterCommits = rows == all && !isLate ? 1 : 0
        tally.rows = isLate ? nil : rows...rows
        return tally
    }

    /// Runs the prefetch to the end, and returns its pace.
    private static func run(_ stage: KillStage) throws -> KillPace? {
        stage.job.begin()
        let start = ContinuousClock.now
        try stage.run(stage.prefetch(stage.manifest))
        return KillPace(from: start, to: .now, of: stage.job.origin)
    }
}
