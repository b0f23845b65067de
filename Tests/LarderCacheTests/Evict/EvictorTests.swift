import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct EvictorTests {
    private func withScene(_ body: (EvictionScene) throws -> Void) throws {
        try withTemporaryDirectory { try body(EvictionScene($0)) }
    }

    private static let old = EvictionScene.instant(0)

    // MARK: Age

    /// At least the limit, not more than it.
    @Test(arguments: [(100.0, true), (99.5, false)])
    func ageIsAtLeastTheLimit(age: Double, isVictim: Bool) throws {
        try withScene { scene in
            try scene.store([("a", [1], Self.old)])
            var policy = EvictionPolicy()
            policy.maximumAge = 100
            let index = try #require(scene.cache.index)
            let disk = try DiskSpace(of: scene.cache.directory.root)
            let plan = try EvictionPlan(
                policy, index: index, at: nil, in: scene.cache.directory)
            _ = try plan.decide(
                at: Self.old.addingTimeInterval(age), runStart: Date(), free: disk.free)
            #expect(
                try plan.victims(after: 0, limit: 10).map(\.reported.reason)
                    == (isVictim ? [.age] : []))
            try plan.close()
        }
    }

    /// Fetched first, used last.
    @Test func orderIsByWhatIsAskedFor() throws {
        for (order, survivor) in [(EvictionOrder.used, "first"), (.fetched, "second")] {
            try withScene { scene in
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

    /// The newest object is larger than all may be together, so that the older ones would go in vain.
    @Test(arguments: [nil, 2, 1] as [Int?])
    func whatAloneIsTooLargeGoesFirst(maximumObjects: Int?) throws {
        try withScene { scene in
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

    /// An object that is too large and stays makes no exception for others.
    @Test func whatIsTooLargeAndPinnedStays() throws {
        try withScene { scene in
            try scene.store([("large", noise(900, seed: 1), Self.old)])
            try scene.store([("small", noise(90, seed: 2), EvictionScene.instant(1))])
            _ = try scene.cache.pin(keys(["large"]))
            let (report, _) = try scene.evict { $0.maximumBytes = 200 }
            #expect(try scene.keys == ["large"])
            #expect(report.held[.pin]?.count == 1 && report.missed == [.size])
        }
    }

    @Test func whatIsUsedOfLateStays() throws {
        try withScene { scene in
            try scene.store([("a", [1], Self.old), ("b", [2], Self.old), ("c", [3], Self.old)])
            try scene.cache.recordUse(of: [Digest.reference(of: [2])])
            let (report, _) = try scene.evict { $0.maximumAge = 1_000 }
            #expect(try scene.keys == ["b"])
            #expect(report.evicted[.age]?.count == 2)
            try scene.expectAgreement()
        }
    }

    // MARK: What stays

    @Test func runUnderWayKeepsWhatItStored() throws {
        try withScene { scene in
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

    /// A clock that had gone ahead shields nothing, but while a run is under way: its own use would
    /// be told by nothing else.
    @Test(arguments: [false, true]) func useInATimeToComeMayBeARuns(isUnderWay: Bool) throws {
        try withScene { scene in
            try scene.store([("a", [1], Date(timeIntervalSinceNow: 86_400))])
            let running = isUnderWay ? try scene.cache.store() : nil
            let (report, _) = try scene.evict { $0.maximumBytes = 0 }
            #expect(report.held[.run]?.count == (isUnderWay ? 1 : nil))
            #expect(try scene.keys.isEmpty == !isUnderWay)
            running?.close()
        }
    }

    /// What was fetched before the clock was set is of no known age: it is the youngest, and ages
    /// from then on.
    @Test func whatAClockThatWasNeverSetHasStoredDoesNotGoByAge() throws {
        try withScene { scene in
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

    /// Most objects are in the future: today's clock is wrong, or theirs was. After a week it is
    /// taken to be right.
    @Test func aClockThatWasAheadOnceDoesNotShieldForEver() throws {
        try withScene { scene in
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

    /// The decision is old when its turn comes: a use, a pin or a deposit since then overrules it.
    @Test(arguments: ["use", "pin", "deposit"]) func whatHappensMeanwhileCounts(_ event: String)
        throws
    {
        try withScene { scene in
            // The first batch ends before the last object's turn.
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
            let stays = [try #require(lastKey)] + (event == "deposit" ? ["another key"] : [])
            #expect(try scene.keys == stays)
            try scene.expectAgreement()
        }
    }

    // MARK: Beside a store

    /// The same bytes are stored again between the end of their rows and the end of their file.
    @Test func fileThatIsStoredAgainStays() throws {
        try withScene { scene in
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

    /// A file that goes between its renaming and its row gets no row.
    @Test(.timeLimit(.minutes(10))) func fileThatVanishedGetsNoRow() throws {
        try withScene { scene in
            let bytes = noise(500, seed: 1)
            let store = try scene.cache.store()
            let batches = CommittedBatches(of: store)
            try batches.put(bytes, at: "a")
            let other = try #require(try Cache.open(at: scene.directory.path).index)
            let flushed = DispatchSemaphore(value: 0)
            let file = try scene.cache.file(of: bytes)
            // While this holds the write lock, the store gets as far as its commit.
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
            // And is stored when it comes again.
            try batches.put(bytes, at: "a")
            store.flush()
            #expect(try scene.cache.resource("a") != nil)
            try scene.expectAgreement()
        }
    }

    /// An age comes before any other limit, and the oldest first.
    @Test func whatIsTooOldGoesByAge() throws {
        try withScene { scene in
            try scene.store([("older", [1], Self.old)])
            try scene.store([("large", noise(900, seed: 1), EvictionScene.instant(1))])
            let victims = try scene.evict {
                $0.maximumAge = 0
                $0.maximumBytes = 100
            }.victims
            #expect(victims.map(\.size) == [1, 900])
        }
    }

    // MARK: Odd caches

    /// Even in a row that stays: what follows it could be anything.
    @Test func aDamagedTimeIsFound() throws {
        try withScene { scene in
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

    @Test func readOnlyCacheIsOnlyReckoned() throws {
        try withScene { scene in
            try scene.store([("a", [1], Self.old)])
            scene.cache.close()
            let directory = try CacheDirectory(path: scene.directory.path, create: false)
            let index = try CacheIndex(readOnly: directory)
            var policy = EvictionPolicy()
            policy.maximumObjects = 0
            policy.isDryRun = true
            var evictor = Evictor(
                directory: directory, index: index, policy: policy, onVictim: { _ in },
                onProgress: { _ in }, report: EvictionReport(isDryRun: true))
            #expect(try evictor.run().total.count == 1)
        }
    }

    @Test func withoutAnIndexNothingIsAnOrphan() throws {
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

    @Test func pinsAreListedAndTakenAway() throws {
        try withScene { scene in
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

    /// The rows are gone, the files are not yet, and somebody rebuilds the index of what is there:
    /// the files are that one's from then on.
    @Test(arguments: [true, false])
    func aRecoveryBetweenTwoStepsLosesNothing(isMarked: Bool) throws {
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

    /// When it began nobody knows, so anything may be its.
    @Test func aRunFromATimeToComeKeepsEverything() throws {
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
