import Foundation
import LarderCache
import LarderCore
import LarderTestSupport

/// An eviction that is killed repeatedly, in one of four rounds while a prefetch runs.
struct EvictKills: KillScene {
    private static let entries = 120

    private let stage: KillStage
    private var aim: KillAim
    private let only: (path: String, urls: Set<String>)
    /// The URLs that are missing from the base `part`, for the concurrent prefetch.
    private let absent: Set<String>

    init(in directory: TemporaryDirectory) throws {
        stage = try KillStage(in: directory, entries: Self.entries)
        let part = directory.path("part.json")
        let stored = try stage.job.writeManifest(to: part) { $0 % 4 != 0 }
        absent = Set(stage.job.urls).subtracting(stored)
        try stage.fill("whole")
        try stage.fill("part", from: part)
        let only = directory.path("only.json")
        self.only = (only, try stage.job.writeManifest(to: only) { $0 * 7 % 10 < 6 })
        try stage.restore("whole")
        aim = KillAim(try stage.measure(["evict", "--max-count", "30"]))
    }

    // MARK: - Options

    private struct Order: CustomStringConvertible {
        var policy = EvictionPolicy()
        var arguments = ["evict", "--quiet"]
        var pins: [String] = []
        var isSweeping = false

        var description: String { "\(arguments.joined(separator: " ")), \(pins.count) pinned" }
    }

    private func draw(using random: inout Pseudorandom) -> Order {
        var order = Order()
        switch random.next(below: 4) {
        case 0:
            let count = random.next(below: Self.entries / 2)
            order.policy.maximumObjects = count
            order.arguments += ["--max-count", "\(count)"]
        case 1:
            let total = Set(stage.job.bytes.values).reduce(0) { $0 + $1.count }
            let size = random.next(below: total / 2)
            order.policy.maximumBytes = Int64(size)
            order.arguments += ["--max-size", "\(size)B"]
        case 2:
            let urls = only.urls
            order.policy.only = { add in try urls.forEach(add) }
            order.arguments += ["--only", only.path]
        default:
            break
        }
        if order.arguments.count == 2 || Bool.random(using: &random) {
            order.isSweeping = true
            order.policy.grace = 0
            order.arguments += ["--grace", "0"]
        }
        order.pins = stage.job.urls.filter { _ in random.next(below: 8) == 0 }
        return order
    }

    // MARK: - Rounds

    mutating func round(using random: inout Pseudorandom) throws -> KillOutcome {
        let order = draw(using: &random)
        let moment = aim.draw(using: &random)
        let isConcurrent = random.next(below: 4) == 0
        do {
            let outcome =
                isConcurrent
                ? try killDuringPrefetch(order, at: moment) : try killAlone(order, at: moment)
            aim.learn(moment, outcome)
            return outcome
        } catch {
            throw BrokenPromise("\(order), killed \(moment): \(error)")
        }
    }

    private func killAlone(_ order: Order, at moment: KillMoment) throws -> KillOutcome {
        try stage.restore("whole")
        let leftovers = try plantLeftovers()
        let (victims, missed, all) = try predict(order)
        let status: Int32 = missed ? 2 : 0
        let isLate = try stage.kill(order.arguments, at: moment, statuses: [status])

        // Objects are evicted in the predicted order, each with all of its rows.
        let gone = try examine(order, all)
        guard gone == Set(victims.prefix(gone.count)) else {
            throw BrokenPromise("\(gone.count) objects are gone, and not the first of the victims")
        }
        let swept = leftovers.count { !FileManager.default.fileExists(atPath: $0) }
        let isDone = gone.count == victims.count && (!order.isSweeping || swept == leftovers.count)

        try stage.run(order.arguments + ["--grace", "0"], status: status)
        guard try examine(order, all) == Set(victims) else {
            throw BrokenPromise("the next run did not complete the work")
        }
        try stage.expectCleanCache(Cache.open(at: stage.cache))
        if let left = leftovers.first(where: FileManager.default.fileExists(atPath:)) {
            throw BrokenPromise("\(left) was not swept")
        }
        if isLate { return .late }
        return isDone ? .after : gone.isEmpty && swept == 0 ? .before : .inside
    }

    /// Creates files that crashes and interruptions leave, and returns their paths.
    private func plantLeftovers() throws -> [String] {
        var paths: [String] = []
        for number in 0..<6 {
            let bytes = IconPainter.png(seed: 1_000 + number, size: 8)
            let digest = try stage.digest(of: bytes)
            // Every second object is incomplete.
            try stage.plant(number % 2 == 0 ? bytes : Array(bytes.prefix(20)), as: digest)
            paths.append(stage.objectPath(digest))
        }
        let name = String(repeating: "0", count: 64)
        for path in ["quarantine/\(name)-1", "tmp/partial/\(name)", "tmp/run-1-1/0"] {
            paths.append(stage.path(path))
            try FileManager.default.createDirectory(
                atPath: (stage.path(path) as NSString).deletingLastPathComponent,
                withIntermediateDirectories: true)
            try Data("left".utf8).write(to: URL(fileURLWithPath: stage.path(path)))
        }
        return paths
    }

    /// Pins the order's URLs. Returns the objects to evict, in order, whether a limit cannot be
    /// reached, and the object of each URL.
    private func predict(
        _ order: Order
    ) throws -> (victims: [Digest], missed: Bool, all: [String: Digest]) {
        let cache = try Cache.open(at: stage.cache)
        defer { cache.close() }
        _ = try cache.pin { add in try order.pins.forEach(add) }
        var all: [String: Digest] = [:]
        try cache.forEachResource { all[$0.key] = $0.object.digest }
        var policy = order.policy
        policy.isDryRun = true
        var victims: [Digest] = []
        let report = try cache.evict(policy) { victims.append($0.digest) }
        return (victims, !report.missed.isEmpty, all)
    }

    /// Returns the objects of `all` that were evicted. All other rows must remain, with the right
    /// bytes.
    private func examine(_ order: Order, _ all: [String: Digest]) throws -> Set<Digest> {
        let cache = try Cache.open(at: stage.cache)
        defer { cache.close() }
        let report = try cache.verify()
        guard report.findings.allSatisfy({ $0.kind == .orphaned }) else {
            throw BrokenPromise("verify: \(report.findings)")
        }
        let rows = try stage.job.rightRows(of: cache)
        let gone = Set(all.filter { !rows.contains($0.key) }.values)
        guard rows == Set(all.filter { !gone.contains($0.value) }.keys) else {
            throw BrokenPromise("an object lost some of its URLs only")
        }
        guard try stage.pins(cache) == Set(order.pins) else {
            throw BrokenPromise("pins were lost")
        }
        return gone
    }

    /// Kills the eviction while a prefetch stores the missing icons. The prefetch must succeed.
    private func killDuringPrefetch(_ order: Order, at moment: KillMoment) throws -> KillOutcome {
        try stage.restore("part")
        let report = stage.directory.path("report")
        try? FileManager.default.removeItem(atPath: report)
        let (_, _, all) = try predict(order)
        let prefetch = try stage.start(stage.prefetch(stage.manifest) + ["--report", report])
        let isLate = try stage.kill(order.arguments, at: moment, statuses: [0, 2])
        let isPrefetching = try stage.isRunInProgress()
        let finished = try prefetch.wait()
        guard finished.status == 0 else { throw BrokenPromise("prefetch: \(finished)") }
        let cache = try Cache.open(at: stage.cache)
        defer { cache.close() }
        guard try cache.verify().isClean else { throw BrokenPromise("\(try cache.verify())") }
        let rows = try stage.job.rightRows(of: cache)
        // After the prefetch has ended, its icons may be evicted.
        if isPrefetching, let lost = absent.subtracting(rows).first {
            throw BrokenPromise("\(lost) was just stored, but is gone")
        }
        let pinned = Set(order.pins).intersection(all.keys)
        guard pinned.isSubset(of: rows) else { throw BrokenPromise("a pinned URL is gone") }
        if isLate { return .late }
        return rows.isSuperset(of: all.keys) ? .before : .inside
    }
}
