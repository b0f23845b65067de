import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct EvictorTests {
    private static let old = EvictionScene.instant(0)

    // MARK: Age

    @Test(arguments: [(100.0, true), (99.5, false)])
    func objectsAtTheMaximumAgeAreEvicted(age: Double, isVictim: Bool) throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old)])
            var policy = EvictionPolicy()
            policy.maximumAge = 100
            let index = try #require(scene.cache.index)
            let disk = try DiskSpace(of: scene.cache.directory.root)
            let plan = try EvictionPlan(
                policy, index: index, at: nil, in: scene.cache.directory)
            var report = EvictionReport(isDryRun: true)
            _ = try plan.decide(
                at: Self.old.addingTimeInterval(age), runStart: Date(), free: disk.free,
                into: &report)
            #expect(
                try plan.victims(after: 0, limit: 10).map(\.reason) == (isVictim ? [.age] : []))
            try plan.close()
        }
    }

    /// The object "first" is fetched before "second", and used after it.
    @Test func evictionFollowsTheOrderOfThePolicy() throws {
        for (order, survivor) in [(EvictionOrder.used, "first"), (.fetched, "second")] {
            try EvictionScene.run { scene in
                try scene.store([("first", [1], EvictionScene.instant(2))])
                try scene.store([("second", [2], EvictionScene.instant(1))])
                _ = try scene.evict {
                    $0.maximumObjects = 1
                    $0.order = order
                }
                #expect(try scene.keys == [survivor])
            }
        }
    }

    /// Evicting the older objects first would be useless, because a newer one exceeds the limit on
    /// its own.
    @Test(arguments: [nil, 2, 1] as [Int?])
    func objectsLargerThanTheSizeLimitAreEvictedFirst(maximumObjects: Int?) throws {
        try EvictionScene.run { scene in
            try scene.store([("old", noise(90, seed: 1), Self.old)])
            try scene.store([("used", noise(90, seed: 2), EvictionScene.instant(1))])
            try scene.store([("exact", noise(200, seed: 3), EvictionScene.instant(2))])
            try scene.store([("large", noise(201, seed: 4), EvictionScene.instant(3))])
            try scene.store([("larger", noise(900, seed: 5), EvictionScene.instant(4))])
            let (report, victims) = try scene.evict {
                $0.maximumBytes = 200
                $0.maximumObjects = maximumObjects
            }
            #expect(try scene.keys == ["exact"])
            #expect(victims.map(\.size) == [201, 900, 90, 90])
            #expect(report.missed.isEmpty)
            try scene.expectAgreement()
        }
    }

    /// A pinned object above the limit does not protect smaller objects.
    @Test func aPinnedObjectLargerThanTheSizeLimitIsKept() throws {
        try EvictionScene.run { scene in
            try scene.store([("large", noise(900, seed: 1), Self.old)])
            try scene.store([("small", noise(90, seed: 2), EvictionScene.instant(1))])
            _ = try scene.cache.pin(keys(["large"]))
            let (report, _) = try scene.evict { $0.maximumBytes = 200 }
            #expect(try scene.keys == ["large"])
            #expect(report.held[.pin]?.count == 1 && report.missed == [.size])
        }
    }

    @Test func recentlyUsedObjectsAreKept() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old), ("b", [2], Self.old), ("c", [3], Self.old)])
            try scene.cache.recordUse(of: [Digest.reference(of: [2])])
            let (report, _) = try scene.evict { $0.maximumAge = 1_000 }
            #expect(try scene.keys == ["b"])
            #expect(report.evicted[.age]?.count == 2)
            try scene.expectAgreement()
        }
    }

    // MARK: Kept objects

    @Test func objectsStoredByAnActiveRunAreKept() throws {
        try EvictionScene.run { scene in
            try scene.store([("before", [1], Self.old)])
            let store = try scene.cache.store()
            try store.put([2], at: "new")
            store.flush()
            let (report, _) = try scene.evict { $0.maximumBytes = 0 }
            #expect(try scene.keys == ["new"])
            #expect(report.held[.run]?.count == 1 && report.missed == [.size])
            store.close()
            #expect(try scene.evict { $0.maximumBytes = 0 }.report.missed.isEmpty)
            #expect(try scene.keys.isEmpty)
            try scene.expectAgreement()
        }
    }

    /// The use may be that of an active run whose clock is ahead.
    @Test(arguments: [false, true]) func aFutureUseProtectsAnObjectOnlyDuringARun(isRunActive: Bool)
        throws
    {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Date(timeIntervalSinceNow: 86_400))])
            let running = isRunActive ? try scene.cache.store() : nil
            let (report, _) = try scene.evict { $0.maximumBytes = 0 }
            #expect(report.held[.run]?.count == (isRunActive ? 1 : nil))
            #expect(try scene.keys.isEmpty == !isRunActive)
            running?.close()
        }
    }

    /// The age of these objects is unknown, so it counts from the first eviction.
    @Test func objectsStoredBeforeTheClockWasSetAreNotEvictedByAge() throws {
        try EvictionScene.run { scene in
            let unset = Date(timeIntervalSince1970: 60)
            try scene.store([("old", [1], Self.old), ("a", [2], unset), ("b", [3], unset)])
            func instants() throws -> [Double] {
                try ["a", "b"].map {
                    try #require(try scene.cache.resource($0)).object.usedAt.timeIntervalSince1970
                }
            }
            let (report, _) = try scene.evict {
                $0.maximumAge = 86_400
                $0.isDryRun = true
            }
            #expect(report.evicted[.age]?.count == 1)
            #expect(try instants() == [60, 60])
            _ = try scene.evict { $0.maximumAge = 86_400 }
            #expect(try scene.keys == ["a", "b"])
            #expect(try instants().allSatisfy { abs(Date().timeIntervalSince1970 - $0) < 600 })
            try scene.expectAgreement()
        }
    }

    /// If most times are in the future, the current clock may be wrong. After a week it is taken to
    /// be right.
    @Test func futureTimesOfMostObjectsAreCorrectedAfterAWeek() throws {
        try EvictionScene.run { scene in
            let ahead = Date(timeIntervalSinceNow: 400 * 86_400)
            try scene.store([("a", [1], ahead), ("b", [2], ahead), ("c", [3], Self.old)])
            func use() throws -> Date { try #require(try scene.cache.resource("a")).object.usedAt }
            func setDay(_ ago: Int) throws {
                try scene.cache.requireWritable().write { db in
                    let day = Int(Date().timeIntervalSince1970 / 86_400) - ago
                    try db.execute(sql: "PRAGMA user_version = \(day)")
                }
            }
            for day in [0, 6] {
                if day > 0 { try setDay(day) }
                _ = try scene.evict()
                #expect(abs(try use().timeIntervalSince(ahead)) < 1)
            }
            try setDay(8)
            _ = try scene.evict()
            #expect(abs(try use().timeIntervalSinceNow) < 600)
        }
    }

    /// Victims are chosen before the first removal. A use, a pin or a deposit after that overrides
    /// the choice.
    @Test(arguments: ["use", "pin", "deposit"])
    func aUsePinOrDepositDuringAnEvictionProtectsAnObject(_ event: String)
        throws
    {
        try EvictionScene.run { scene in
            // The last object is not in the first batch.
            let count = WriteStep.rowLimit + 1
            try scene.store((0..<count).map { ("\($0)", noise(9, seed: $0), Self.old) })
            var policy = EvictionPolicy()
            policy.maximumAge = 1_000
            let other = try Cache.open(at: scene.directory.path)
            var lastKey: String?
            let digests = try (0..<count).map { try Digest.reference(of: noise(9, seed: $0)) }
            let last = try #require(digests.max())
            let report = try scene.cache.evict(policy) { _ in
                guard lastKey == nil else { return }
                let key = "\(try #require(digests.firstIndex(of: last)))"
                lastKey = key
                switch event {
                case "use": try other.recordUse(of: [last])
                case "pin": _ = try other.pin(keys([key]))
                default:
                    let store = try other.store()
                    store.add(.unchanged(last), at: "another key")
                    store.flush()
                    store.close()
                }
            }
            #expect(report.left.count == 1 && report.missed.isEmpty)
            let remaining = [try #require(lastKey)] + (event == "deposit" ? ["another key"] : [])
            #expect(try scene.keys == remaining)
            try scene.expectAgreement()
        }
    }

    // MARK: Concurrent stores

    /// The bytes are stored again after their rows are deleted and before their file is removed.
    @Test func aFileStoredAgainDuringAnEvictionIsKept() throws {
        try EvictionScene.run { scene in
            let bytes = noise(500, seed: 1)
            try scene.store([("a", bytes, Self.old)])
            let other = try Cache.open(at: scene.directory.path)
            var policy = EvictionPolicy()
            policy.maximumAge = 1_000
            let report = try scene.cache.evict(policy) { _ in
                #expect(try other.resource("a") == nil)
                let store = try other.store()
                try store.put(bytes, at: "again")
                store.flush()
                store.close()
            }
            #expect(report.total.count == 1)
            let resource = try #require(try scene.cache.resource("again"))
            #expect(try scene.cache.bytes(of: resource.object) == bytes)
            try scene.expectAgreement()
        }
    }

    @Test(.timeLimit(.minutes(30))) func aFileRemovedBeforeItsCommitGetsNoRow() throws {
        try EvictionScene.run { scene in
            let bytes = noise(500, seed: 1)
            let store = try scene.cache.store()
            let batches = CommittedBatches(of: store)
            try batches.put(bytes, at: "a")
            let other = try #require(try Cache.open(at: scene.directory.path).index)
            let flushed = DispatchSemaphore(value: 0)
            let file = try scene.cache.file(of: bytes)
            // The store waits for this write lock before its commit.
            try other.write { _ in
                DispatchQueue.global().async {
                    store.flush()
                    flushed.signal()
                }
                while !FileManager.default.fileExists(atPath: file) { sched_yield() }
                #expect(unlink(file) == 0)
            }
            flushed.wait()
            let error = #expect(throws: CacheError.self) {
                _ = try batches.outcomes.first?.result.get()
            }
            #expect(error?.code == .missing)
            #expect(try scene.cache.resource("a") == nil)
            // The same bytes can be stored again.
            try batches.put(bytes, at: "a")
            store.flush()
            #expect(try scene.cache.resource("a") != nil)
            try scene.expectAgreement()
        }
    }

    @Test func theAgeLimitAppliesBeforeTheSizeLimit() throws {
        try EvictionScene.run { scene in
            try scene.store([("older", [1], Self.old)])
            try scene.store([("large", noise(900, seed: 1), EvictionScene.instant(1))])
            let victims = try scene.evict {
                $0.maximumAge = 0
                $0.maximumBytes = 100
            }.victims
            #expect(victims.map(\.size) == [1, 900])
        }
    }

    // MARK: Damaged and read-only caches

    /// The other values of such a row cannot be trusted, either.
    @Test func anImpossibleTimeInTheIndexIsDamage() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old), ("b", [2], EvictionScene.instant(1))])
            try scene.cache.index?.write { db in
                try db.execute(sql: "UPDATE objects SET stored_at = 1e13 WHERE size = 1")
            }
            let error = #expect(throws: CacheError.self) {
                _ = try scene.evict { $0.maximumObjects = 1 }
            }
            #expect(error?.code == .damaged)
        }
    }

    @Test func aDryRunWorksWithAReadOnlyIndex() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old)])
            scene.cache.close()
            let directory = try CacheDirectory(path: scene.directory.path, create: false)
            let index = try CacheIndex(readOnly: directory)
            var policy = EvictionPolicy()
            policy.maximumObjects = 0
            policy.isDryRun = true
            var evictor = Evictor(
                directory: directory, index: index, policy: policy, onVictim: { _ in },
                onProgress: { _ in }, disk: try DiskSpace(of: directory.root),
                report: EvictionReport(isDryRun: true))
            #expect(try evictor.run().total.count == 1)
        }
    }

    @Test func objectsAreNotOrphansIfTheIndexIsMissing() throws {
        try withTemporaryDirectory { directory in
            let hex = try Digest.reference(of: [9]).hex
            try Tree.put([9], at: directory.path("objects/sha256/\(hex.prefix(2))/\(hex)"))
            var policy = EvictionPolicy()
            policy.grace = 0
            policy.maximumBytes = 0
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.open(at: directory.path).evict(policy)
            }
            #expect(error?.code == .damaged)
            #expect(Tree.files(directory.path).count == 1)
        }
    }

    @Test func pinsAreAddedListedAndRemoved() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old)])
            let count = try scene.cache.pin(keys(["b", "a", "b"]))
            #expect(count.pinned == 2 && count.absent == 1)
            let again = try scene.cache.pin(keys(["a", "b"]))
            #expect(again.pinned == 0 && again.absent == 0)
            var pins: [String] = []
            try scene.cache.forEachPin { pins.append($0) }
            #expect(pins == ["a", "b"])
            #expect(try scene.cache.unpin(keys(["a", "c"])) == 1)
            #expect(try scene.cache.unpin(scene.cache.forEachPin) == 1)
        }
    }

    /// Another process rebuilds the index after rows are deleted and before their files are
    /// removed. The files belong to the new index.
    @Test(arguments: [true, false])
    func anIndexRebuiltDuringAnEvictionKeepsAllObjects(isMarked: Bool) throws {
        try withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            try scene.store(
                (0..<40).map { ("\($0)", noise(40, seed: $0), EvictionScene.instant(Double($0))) })
            var policy = EvictionPolicy()
            policy.maximumObjects = 10
            var recovery: RecoveryReport?
            let error = #expect(throws: CacheError.self) {
                _ = try scene.cache.evict(policy) { _ in
                    guard recovery == nil else { return }
                    if isMarked {
                        IndexRecovery.markDamage(in: scene.cache.directory)
                    } else {
                        unlink(directory.path("index.sqlite"))
                    }
                    let other = try Cache.create(at: directory.path)
                    recovery = other.recovery
                    other.close()
                }
            }
            #expect(error?.code == .index)
            #expect(recovery?.objects == 40)
            let report = try Cache.open(at: directory.path).verify()
            #expect(report.findings.isEmpty)
            #expect(report.whole == 40)
        }
    }

    /// The real start of the run is unknown, so any object may belong to it.
    @Test func aRunThatStartsInTheFutureProtectsAllObjects() throws {
        try withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            try scene.store([("a", noise(40, seed: 1), EvictionScene.instant(1))])
            let start = UInt64(Date().addingTimeInterval(3_600).timeIntervalSince1970 * 1_000)
            let run = directory.path("tmp/run-\(String(start, radix: 36))-1")
            #expect(mkdir(run, 0o700) == 0)
            let descriptor = open(run, O_RDONLY | O_DIRECTORY)
            defer { close(descriptor) }
            #expect(flock(descriptor, LOCK_EX) == 0)
            var policy = EvictionPolicy()
            policy.maximumObjects = 0
            let report = try scene.cache.evict(policy)
            #expect(report.total.count == 0)
            #expect(report.held[.run]?.count == 1)
            #expect(report.missed == [.count])
        }
    }
}
