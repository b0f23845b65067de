import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// Random histories of a cache whose clock jumps. Each eviction must take the same objects as a
/// simple model, in the same order.
///
/// `LARDER_EVICTION_HISTORIES` sets the number of histories (default: 20).
@Suite struct EvictionHistoryTests {
    private static let histories =
        ProcessInfo.processInfo
        .environment["LARDER_EVICTION_HISTORIES"].flatMap { Int($0) } ?? 20

    @Test(.timeLimit(.minutes(120)), arguments: 0..<Self.histories)
    func everyEvictionOfARandomHistoryMatchesTheModel(_ seed: Int) throws {
        try withTemporaryDirectory { directory in
            var history = try EvictionHistory(EvictionScene(directory), seed: seed)
            for _ in 0..<25 { try history.step() }
            try history.evict()
        }
    }
}

/// Applies the same random operations to a cache and to its model.
private struct EvictionHistory {
    private let scene: EvictionScene
    private var model = EvictionModel()
    private var random: Pseudorandom
    /// The simulated time. Its distance from now is a whole number of hours plus half an hour, so
    /// that no time is near a limit.
    private var clock: Double
    private let start = Date().timeIntervalSince1970 - 1_800

    init(_ scene: EvictionScene, seed: Int) throws {
        self.scene = scene
        random = Pseudorandom(seed: seed)
        clock = start - 30 * 86_400
    }

    mutating func step() throws {
        switch random.next(below: 8) {
        case 0, 1, 2: try put()
        case 3: try use()
        case 4: try confirm()
        case 5: clock = start + 3_600 * Double(random.next(below: 1_440) - 1_200)
        case 6: try pin()
        default: try evict()
        }
    }

    // MARK: Operations

    private mutating func put() throws {
        let store = try scene.cache.store()
        var digests: Set<Digest> = []
        for _ in 0..<(1 + random.next(below: 12)) {
            clock += 3_600 * Double(random.next(below: 3))
            // Few keys and contents, so that keys share objects and get new ones.
            let key = "\(random.next(below: 50))"
            let number = random.next(below: 60)
            let bytes = noise(1 + number * 40, seed: number)
            store.add(.staged(try store.stage(bytes)), at: key, receivedAt: instant)
            let digest = try Digest.reference(of: bytes)
            if model.objects[digest] == nil {
                digests.insert(digest)
                model.objects[digest] = .init(
                    size: Int64(bytes.count), used: clock, stored: clock)
            } else {
                model.use(digest, at: clock)
            }
            model.resources[key] = digest
        }
        store.flush()
        store.close()
        // The store uses the system's clock, which a test cannot set.
        try scene.cache.requireWritable().write { db in
            for digest in digests {
                try db.execute(
                    sql: "UPDATE objects SET stored_at = ? WHERE digest = ?",
                    arguments: [model.objects[digest]?.stored, digest.blob])
            }
        }
    }

    private var instant: Date { Date(timeIntervalSince1970: clock) }

    /// Records uses at the current time.
    private mutating func use() throws {
        let (digests, start) = (some(of: 6, model.objects.keys.sorted()), start)
        try scene.cache.recordUse(of: digests)
        try adopt(digests) { used, _ in used >= start - 3_600 }
    }

    /// Stores confirmations of random resources, received at the simulated time.
    private mutating func confirm() throws {
        let store = try scene.cache.store()
        for key in some(of: 6, model.resources.keys.sorted()) {
            guard let digest = model.resources[key] else { continue }
            store.add(.unchanged(digest), at: key, receivedAt: instant)
            model.use(digest, at: clock)
        }
        store.flush()
        store.close()
    }

    private mutating func pin() throws {
        let (pinned, unpinned) = (some(of: 15, allKeys), some(of: 3, model.pins.sorted()))
        _ = try scene.cache.pin(keys(pinned))
        _ = try scene.cache.unpin(keys(unpinned))
        model.pins.formUnion(pinned)
        model.pins.subtract(unpinned)
    }

    // MARK: Evictions

    mutating func evict() throws {
        let order = draw()
        let before = try rows()
        var expected = model
        let (victims, missed) = expected.evict(order)
        for isDryRun in [true, false] {
            let (report, taken) = try scene.evict { policy in
                apply(order, to: &policy)
                policy.isDryRun = isDryRun
            }
            #expect(taken == victims)
            #expect(report.missed == missed)
            #expect(report.left.bytes == expected.bytes)
            #expect(report.left.count == expected.objects.count)
            if isDryRun { #expect(try rows() == before) }
        }
        model = expected
        let start = start
        try adopt(model.futureObjects(at: start + 3_599)) { used, stored in
            max(used, stored) < start + 3_600
        }
        let left = try rows()
        #expect(left.mapValues(\.used) == model.objects.mapValues(\.used))
        #expect(left.mapValues(\.stored) == model.objects.mapValues(\.stored))
        #expect(try scene.keys == model.resources.keys.sorted())
        try scene.expectAgreement()
    }

    private mutating func draw() -> EvictionModel.Order {
        var order = EvictionModel.Order()
        if random.next(below: 2) == 0 { order.bytes = Int64(random.next(below: 40_000)) }
        if random.next(below: 3) == 0 { order.count = random.next(below: 40) }
        order.order = EvictionOrder.allCases[random.next(below: EvictionOrder.allCases.count)]
        if random.next(below: 3) == 0 {
            let instants = model.objects.values.map { order.instant($0) }
            // The limit is the time of an object, or now.
            order.oldest =
                instants.sorted().filter { $0 <= start }.randomElement(using: &random) ?? start
        }
        if random.next(below: 2) == 0 { order.kept = Set(some(of: 6, allKeys)) }
        if random.next(below: 4) == 0 { order.only = Set(some(of: 2, allKeys)) }
        if random.next(below: 12) == 0 { order.needsAllSpace = true }
        return order
    }

    private func apply(_ order: EvictionModel.Order, to policy: inout EvictionPolicy) {
        policy.maximumBytes = order.bytes
        policy.maximumObjects = order.count
        // One second of tolerance, because the clock is running.
        policy.maximumAge = order.oldest.map { Date().timeIntervalSince1970 - $0 - 1 }
        policy.order = order.order
        policy.minimumFree = order.needsAllSpace ? .max : 0
        if !order.kept.isEmpty { policy.keep = keys(order.kept.sorted()) }
        policy.only = order.only.map { keys($0.sorted()) }
    }

    // MARK: -

    private let allKeys = (0..<50).map(String.init)

    /// Returns a random selection, on average one in `one` elements.
    private mutating func some<Value>(of one: Int, _ all: [Value]) -> [Value] {
        all.filter { _ in random.next(below: one) == 0 }
    }

    /// Copies times that only the cache knows to the model.
    private mutating func adopt(
        _ digests: [Digest], where isValid: (_ used: Double, _ stored: Double) -> Bool
    ) throws {
        let rows = try rows()
        for digest in digests {
            guard let row = rows[digest], var object = model.objects[digest] else { continue }
            #expect(isValid(row.used, row.stored), "\(digest): \(row), before: \(object)")
            object.used = row.used
            object.stored = row.stored
            model.objects[digest] = object
        }
    }

    private struct Instants: Equatable {
        let used: Double
        let stored: Double
    }

    private func rows() throws -> [Digest: Instants] {
        var rows: [Digest: Instants] = [:]
        try scene.cache.requireWritable().write { db in
            let all = try Row.fetchAll(db, sql: "SELECT digest, used_at, stored_at FROM objects")
            for row in all {
                let digest = try #require(Digest(bytes: row[0] as Data))
                rows[digest] = Instants(used: row[1], stored: row[2])
            }
        }
        return rows
    }
}
