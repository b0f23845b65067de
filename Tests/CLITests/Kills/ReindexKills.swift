import Foundation
import LarderCache
import LarderCore
import LarderTestSupport

/// A rebuild of the index that is killed repeatedly: by `reindex`, or automatically by a prefetch.
struct ReindexKills: KillScene {
    private static let entries = 60

    private enum State: CaseIterable {
        case sound, damaged, gone
    }

    private struct Round: CustomStringConvertible {
        let state: State
        let hasSnapshot: Bool
        /// An object with other bytes, or nil for none.
        let corrupt: Digest?
        let arguments: [String]
        let moment: KillMoment

        var description: String {
            """
            index \(state), \(hasSnapshot ? "a" : "no") snapshot\(corrupt == nil ? "" : ", damage"), \
            \(arguments[0]) killed \(moment)
            """
        }
    }

    private let stage: KillStage
    private var aim: KillAim
    private var prefetchAim: KillAim
    /// The object of each URL in the base cache.
    private let stored: [String: Digest]
    private let pins: Set<String>

    init(in directory: TemporaryDirectory) throws {
        let stage = try KillStage(in: directory, entries: Self.entries)
        self.stage = stage
        let part = directory.path("part.json")
        let urls = try stage.job.writeManifest(to: part) { $0 % 10 != 0 }
        stored = try stage.job.bytes.filter { urls.contains($0.key) }
            .mapValues { try stage.digest(of: $0) }
        pins = Set(stage.job.urls.prefix(3))
        // The pins come first, so that the prefetch's snapshot of the index contains them.
        try stage.run(["pin"] + pins, in: directory.path("base"))
        try stage.fill("base", from: part)
        try stage.restore("base")
        aim = KillAim(try stage.measure(["reindex"]))
        try stage.restore("base")
        unlink(stage.path("index.sqlite"))
        prefetchAim = KillAim(try stage.measure(stage.prefetch(stage.manifest)))
    }

    mutating func round(using random: inout Pseudorandom) throws -> KillOutcome {
        let state = State.allCases[random.next(below: 3)]
        let isPrefetch = state != .sound && random.next(below: 3) == 0
        let round = Round(
            state: state, hasSnapshot: random.next(below: 4) > 0,
            corrupt: isPrefetch || random.next(below: 3) > 0
                ? nil : Set(stored.values).sorted().randomElement(using: &random),
            arguments: isPrefetch ? stage.prefetch(stage.manifest) : ["reindex", "--quiet"],
            moment: isPrefetch ? prefetchAim.draw(using: &random) : aim.draw(using: &random))
        do {
            let outcome = try play(round, finishing: Bool.random(using: &random))
            if isPrefetch {
                prefetchAim.learn(round.moment, outcome)
            } else {
                aim.learn(round.moment, outcome)
            }
            return outcome
        } catch {
            throw BrokenPromise("\(round): \(error)")
        }
    }

    private func play(_ round: Round, finishing: Bool) throws -> KillOutcome {
        let old = try prepare(round)
        let status: Int32 = round.corrupt == nil ? 0 : 2
        let isLate = try stage.kill(round.arguments, at: round.moment, statuses: [status])
        let outcome = try examine(round, old)
        let wasFetched = Set(stage.job.requests.keys)
        stage.job.begin()

        // The next run completes the rebuild, with or without `reindex`.
        if finishing || round.corrupt != nil {
            try stage.run(["reindex", "--quiet"], status: status)
            try expectRows(round, of: Cache.open(at: stage.cache))
        }
        try stage.run(stage.prefetch(stage.manifest))
        let known = known(round)
        let requested = Set(stage.job.requests.keys)
        // Icons that the killed prefetch fetched may or may not be stored.
        guard requested.subtracting(wasFetched).isDisjoint(with: known),
            requested.union(wasFetched).isSuperset(of: Set(stage.job.urls).subtracting(known))
        else { throw BrokenPromise("requested \(requested), but \(known) was intact") }
        guard requested.isDisjoint(with: known) else {
            throw BrokenPromise(
                "fetched again although it was intact: \(requested.intersection(known))")
        }
        try expectCompletion(round, old)
        return isLate ? .late : outcome
    }

    /// Returns the URLs that must not be fetched again.
    private func known(_ round: Round) -> Set<String> {
        guard round.state == .sound || round.hasSnapshot else { return [] }
        return Set(stored.filter { $0.value != round.corrupt }.keys)
    }

    /// Prepares the cache for a round, and returns the bytes of the damaged index.
    private func prepare(_ round: Round) throws -> Data? {
        try stage.restore("base")
        if !round.hasSnapshot { unlink(stage.path("index.snapshot.sqlite")) }
        // Intact objects without rows, which the rebuild adopts.
        for url in stage.job.urls where stored[url] == nil {
            let bytes = stage.job.bytes[url] ?? []
            try stage.plant(bytes, as: stage.digest(of: bytes))
        }
        if let corrupt = round.corrupt { try stage.plant(Array("other bytes".utf8), as: corrupt) }
        let path = stage.path("index.sqlite")
        switch round.state {
        case .sound: return nil
        case .damaged:
            let bytes = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            try bytes.write(to: URL(fileURLWithPath: path))
            return bytes
        case .gone:
            unlink(path)
            return nil
        }
    }

    /// Expects the old index or the new one, or none if it can be rebuilt.
    private func examine(_ round: Round, _ old: Data?) throws -> KillOutcome {
        let index = FileManager.default.contents(atPath: stage.path("index.sqlite"))
        if round.state == .damaged, index == old { return .before }
        guard index != nil else {
            guard round.state != .sound else { throw BrokenPromise("a sound index is gone") }
            let hasSnapshot = FileManager.default.fileExists(
                atPath: stage.path("index.snapshot.sqlite"))
            guard hasSnapshot == round.hasSnapshot else { throw BrokenPromise("no snapshot") }
            let isBegun = round.state == .damaged || hasTemporaries
            return isBegun ? .inside : .before
        }
        let cache = try Cache.open(at: stage.cache)
        defer { cache.close() }
        let report = try cache.verify()
        guard report.findings.allSatisfy({ $0.digest == round.corrupt || !$0.kind.isCorruption })
        else { throw BrokenPromise("verify: \(report.findings)") }
        let isOld = report.findings.contains { $0.kind == .orphaned && $0.digest != round.corrupt }
        if round.state == .sound, isOld {
            guard try rightRows(round, of: cache) == Set(stored.keys) else {
                throw BrokenPromise("the old index has lost rows")
            }
            return hasTemporaries ? .inside : .before
        }
        try expectRows(round, of: cache)
        return .after
    }

    private var hasTemporaries: Bool {
        let names = try? FileManager.default.contentsOfDirectory(atPath: stage.path("tmp"))
        return names?.contains { $0.hasPrefix("run-") } ?? false
    }

    /// Returns the URLs in the index. All objects except the corrupt one must have the right bytes.
    private func rightRows(_ round: Round, of cache: Cache) throws -> Set<String> {
        var rows: Set<String> = []
        try cache.forEachResource { resource in
            rows.insert(resource.url)
            guard resource.object.digest != round.corrupt else { return }
            guard try cache.bytes(of: resource.object) == stage.job.bytes[resource.url] else {
                throw BrokenPromise("\(resource.url) has other bytes than its origin's")
            }
        }
        return rows
    }

    /// Expects the known URLs and the pins in a new index.
    private func expectRows(_ round: Round, of cache: Cache) throws {
        let rows = try rightRows(round, of: cache)
        guard rows.isSuperset(of: known(round)) else {
            throw BrokenPromise("of \(known(round).count) URLs the new index has \(rows.count)")
        }
        let pinsLeft = try stage.pins(cache)
        guard pinsLeft == pins || round.state != .sound && !round.hasSnapshot else {
            throw BrokenPromise("pins were lost")
        }
    }

    private func expectCompletion(_ round: Round, _ old: Data?) throws {
        let cache = try Cache.open(at: stage.cache)
        defer { cache.close() }
        guard try stage.job.rightRows(of: cache).count == Self.entries else {
            throw BrokenPromise("the prefetch did not complete the job")
        }
        try stage.expectCleanCache(cache)
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.cache)
        let setAside = names.filter { $0.hasPrefix("index.damaged") }
        guard let old else {
            guard setAside.isEmpty else { throw BrokenPromise("set aside: \(setAside)") }
            return
        }
        guard
            setAside.contains(where: { FileManager.default.contents(atPath: stage.path($0)) == old }
            )
        else { throw BrokenPromise("the damaged index is not among \(setAside)") }
    }
}
