import Foundation
import LarderCache
import LarderCore
import LarderTestSupport

/// A repair that is killed repeatedly, in a cache with several kinds of damage.
struct RepairKills: KillScene {
    private static let entries = 40
    private static let arguments = ["verify", "--repair", "--allow-private-network", "--quiet"]

    private let stage: KillStage
    private var aim: KillAim
    /// The object of each URL in the base cache.
    private let stored: [String: Digest]
    private let pins: Set<String>

    init(in directory: TemporaryDirectory) throws {
        let stage = try KillStage(in: directory, entries: Self.entries)
        self.stage = stage
        let part = directory.path("part.json")
        let urls = try stage.job.writeManifest(to: part) { $0 % 10 != 0 }
        try stage.fill("base", from: part)
        stored = try stage.job.bytes.filter { urls.contains($0.key) }
            .mapValues { try stage.digest(of: $0) }
        pins = Set(stage.job.urls.prefix(3))
        try stage.run(["pin"] + pins, in: directory.path("base"))
        try stage.restore("base")
        for digest in Set(stored.values).sorted().prefix(8) {
            try stage.plant([1, 2, 3], as: digest)
        }
        aim = KillAim(try stage.measure(Self.arguments))
    }

    // MARK: - Damage

    private struct Damage {
        /// Objects that have other bytes or are missing.
        var bad: Set<Digest> = []
        /// Intact objects in the wrong place or with the wrong permissions.
        var odd: Set<Digest> = []
    }

    private func damage(using random: inout Pseudorandom) throws -> Damage {
        var damage = Damage()
        for digest in Set(stored.values).sorted() {
            let path = stage.objectPath(digest)
            switch random.next(below: 12) {
            case 0:
                try stage.plant(Array("other bytes".utf8), as: digest)
                damage.bad.insert(digest)
            case 1:
                unlink(path)
                damage.bad.insert(digest)
            case 2:
                unlink(path)
                symlink("/etc/hostname", path)
                damage.bad.insert(digest)
            case 3:
                let other = digest.hex.hasPrefix("00") ? "01" : "00"
                let stray = stage.path("objects/sha256/\(other)")
                mkdir(stray, 0o777)
                rename(path, "\(stray)/\(digest.hex)")
                damage.odd.insert(digest)
            case 4:
                chmod(path, 0o600)
                damage.odd.insert(digest)
            default: continue
            }
        }
        // Orphans: intact objects without rows, and an empty file.
        for (number, url) in stage.job.urls.filter({ stored[$0] == nil }).enumerated() {
            let bytes = stage.job.bytes[url] ?? []
            let digest = try stage.digest(of: bytes)
            if stored.values.contains(digest) { continue }
            try stage.plant(number == 0 ? [] : bytes, as: digest)
        }
        return damage
    }

    // MARK: - Rounds

    mutating func round(using random: inout Pseudorandom) throws -> KillOutcome {
        try stage.restore("base")
        let damage = try damage(using: &random)
        let needed = stored.filter { damage.bad.contains($0.value) }.count
        let moment: KillMoment =
            if needed > 0, random.next(below: 3) == 0 {
                .requests(
                    1 + random.next(below: needed),
                    thenSeconds: .random(in: 0...0.02, using: &random))
            } else {
                aim.draw(using: &random)
            }
        do {
            let isLate = try stage.kill(Self.arguments, at: moment)
            let outcome = try examine(damage, isLate: isLate)
            aim.learn(moment, outcome)
            try complete(damage)
            return outcome
        } catch {
            throw BrokenPromise("\(damage.bad.count) bad objects, killed \(moment): \(error)")
        }
    }

    /// Expects no findings except the damage, and no other losses.
    private func examine(_ damage: Damage, isLate: Bool) throws -> KillOutcome {
        let cache = try Cache.open(at: stage.cache)
        defer { cache.close() }
        let report = try cache.verify()
        for finding in report.findings {
            let isPlanted =
                switch finding.kind {
                case .orphaned, .foreign: true
                case .corrupt, .link: finding.digest.map(damage.bad.contains) == true
                case .missing:
                    // The finding has URLs, from which the next repair fetches the object.
                    !finding.urls.isEmpty
                        && finding.digest.map(damage.bad.union(damage.odd).contains) == true
                case .misplaced, .mode: finding.digest.map(damage.odd.contains) == true
                case .unreadable, .index, .obstructed: false
                }
            guard isPlanted else { throw BrokenPromise("a finding without damage: \(finding)") }
        }
        var rows: Set<String> = []
        var unrepaired = 0
        try cache.forEachResource { resource in
            rows.insert(resource.url)
            do {
                guard try cache.bytes(of: resource.object) == stage.job.bytes[resource.url] else {
                    throw BrokenPromise("\(resource.url) has other bytes than its origin's")
                }
            } catch let error as CacheError where error.code == .corrupt {
                let digest = resource.object.digest
                guard damage.bad.contains(digest) || damage.odd.contains(digest) else {
                    throw error
                }
                unrepaired += 1
            }
        }
        if let lost = stored.first(where: {
            !rows.contains($0.key) && !damage.bad.contains($0.value)
        }) {
            throw BrokenPromise("\(lost.key) was intact, but its row is lost")
        }
        guard try stage.pins(cache) == pins else { throw BrokenPromise("pins were lost") }
        if isLate { return .late }
        let odd = report.count(.mode) + report.count(.misplaced)
        let isWhole = unrepaired == 0 && odd == 0 && rows.isSuperset(of: stored.keys)
        let isUntouched =
            odd == damage.odd.count && rows.isSuperset(of: stored.keys)
            && report.count(.corrupt) + report.count(.missing) + report.count(.link)
                >= damage.bad.count
        return isWhole ? .after : isUntouched ? .before : .inside
    }

    /// Expects that another repair completes the work, including objects that the killed repair
    /// removed from the index. The next prefetch must not request icons that were stored before.
    private func complete(_ damage: Damage) throws {
        try stage.run(Self.arguments)
        let missing: Set<String>
        do {
            let cache = try Cache.open(at: stage.cache)
            defer { cache.close() }
            let report = try cache.verify()
            guard report.findings.allSatisfy({ $0.kind == .orphaned }) else {
                throw BrokenPromise("after the next repair: \(report.findings)")
            }
            let rows = try stage.job.rightRows(of: cache)
            missing = Set(stage.job.urls).subtracting(rows)
            if let lost = missing.first(where: { stored[$0] != nil }) {
                throw BrokenPromise("the next repair lost \(lost)")
            }
        }
        stage.job.begin()
        try stage.run(stage.prefetch(stage.manifest))
        guard Set(stage.job.requests.keys) == missing else {
            throw BrokenPromise(
                "the prefetch requested \(stage.job.requests.keys), but not \(missing)")
        }
        let cache = try Cache.open(at: stage.cache)
        defer { cache.close() }
        guard try stage.job.rightRows(of: cache).count == Self.entries else {
            throw BrokenPromise("the prefetch did not complete the job")
        }
        try stage.expectCleanCache(cache)
    }
}
