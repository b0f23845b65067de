import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

@Suite struct StoreTests {
    // MARK: What a commit does

    @Test func nothingIsVisibleBeforeTheCommitAndAllOfItAfter() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            let bytes = noise(3_000, seed: 1)
            let attributes = ObjectAttributes(mediaType: "image/png", width: 3, height: 4)
            var validators = Validators()
            validators.etag = "\"1\""
            store.add(
                .staged(try store.stage(bytes, attributes: attributes)), at: "key", url: "url",
                token: 7, validators: validators)
            #expect(try cache.resource("key") == nil)
            #expect(Tree.files(directory.path("objects")).isEmpty)

            store.flush()
            let digest = try Digest.reference(of: bytes)
            #expect(batches.outcomes.map(\.token) == [7])
            #expect(try batches.outcomes.first?.result.get() == digest)
            let resource = try #require(try cache.resource("key"))
            #expect(resource.url == "url")
            #expect(resource.validators == validators)
            #expect(resource.object.digest == digest)
            #expect(resource.object.size == 3_000)
            #expect(resource.object.mediaType == "image/png")
            #expect((resource.object.width, resource.object.height) == (3, 4))
            #expect(try cache.bytes(of: resource.object) == bytes)
            #expect(try cache.resource("url") == nil)
        }
    }

    /// "Only now reported": whoever hears of an outcome finds it in the index, from any process.
    @Test func isReportedOnlyOnceItCanBeRead() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let other = try Cache.open(at: directory.path)
            let seen = Mutex<[String: Bool]>([:])
            store.onCommit { outcomes in
                for outcome in outcomes {
                    let key = "key \(outcome.token)"
                    let object = (try? other.resource(key))?.object
                    let bytes = object.flatMap { try? other.bytes(of: $0) }
                    seen.withLock { $0[key] = bytes == noise(100, seed: Int(outcome.token)) }
                }
            }
            for token in 0..<20 {
                try store.put(
                    noise(100, seed: token), at: "key \(token)", token: Int64(token))
            }
            store.flush()
            #expect(seen.withLock { $0.count } == 20)
            #expect(seen.withLock { $0.values.allSatisfy { $0 } })
        }
    }

    @Test func objectsAreReadOnlyForAllWhateverTheUmask() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            // Process-wide; no other test looks at what a umask takes away.
            let old = umask(0o077)
            defer { umask(old) }
            let (small, large) = (noise(10, seed: 1), noise(300_000, seed: 2))
            try store.put(small, at: "small")
            try store.put(large, at: "large")
            store.flush()
            #expect(Tree.permissions(try cache.file(of: small)) == 0o444)
            #expect(Tree.permissions(try cache.file(of: large)) == 0o444)
        }
    }

    // MARK: Batches

    @Test(.timeLimit(.minutes(10))) func fullBatchIsCommittedWithoutWaiting() async throws {
        try await withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce([1, 2, 3])
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            store.onCommit { continuation.yield($0.count) }
            var batches = stream.makeAsyncIterator()
            var quickest = Duration.seconds(3600)
            // A disk that others keep busy may well take a second, but not time after time.
            for _ in 0..<60 where quickest >= .seconds(Store.batchInterval) {
                let start = ContinuousClock.now
                for token in 0..<Store.batchLimit {
                    store.add(.unchanged(digest), at: "\(token)", token: Int64(token))
                }
                #expect(await batches.next() == Store.batchLimit)
                quickest = min(quickest, .now - start)
            }
            #expect(quickest < .seconds(Store.batchInterval))
        }
    }

    @Test(.timeLimit(.minutes(10))) func partialBatchIsCommittedInTime() async throws {
        try await withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce([1, 2, 3])
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            store.onCommit { continuation.yield($0.count) }
            var batches = stream.makeAsyncIterator()
            for _ in 0..<2 {
                let start = ContinuousClock.now
                for key in ["a", "b", "c"] { store.add(.unchanged(digest), at: key) }
                #expect(await batches.next() == 3)
                // Not each by itself: the batch gathers for its second.
                #expect(.now - start >= .seconds(Store.batchInterval))
            }
        }
    }

    @Test func acceptsNoMoreThanTwoBatchesAhead() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let digest = try store.storeAtOnce([1])
            let (entered, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let accepted = Mutex(0)
            let isFirst = Mutex(true)
            store.onCommit { _ in
                guard
                    isFirst.withLock({ first in
                        defer { first = false }; return first
                    })
                else {
                    return
                }
                entered.signal()
                release.wait()
            }
            func add(_ token: Int) {
                let deposit = Deposit(
                    token: Int64(token), key: "\(token)", url: "\(token)",
                    validators: Validators(), receivedAt: Date(), content: .unchanged(digest))
                store.add(deposit) { accepted.withLock { $0 += 1 } }
            }
            add(-1)
            DispatchQueue.global().async { store.flush() }
            entered.wait()
            // The disk is busy with the first batch now.
            for token in 0..<2 * Store.batchLimit + 10 { add(token) }
            #expect(accepted.withLock { $0 } == 1 + 2 * Store.batchLimit - 1)
            release.signal()
            store.flush()
            #expect(accepted.withLock { $0 } == 1 + 2 * Store.batchLimit + 10)
        }
    }

    @Test func whatFollowsACommitWaitsForIt() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let order = Mutex<[String]>([])
            store.onCommit { outcomes in order.withLock { $0.append("\(outcomes.count) stored") } }
            try store.put([1], at: "a")
            try store.put([2], at: "b")
            store.flush()
            store.afterCommits { order.withLock { $0.append("after") } }
            store.flush()
            #expect(order.withLock { $0 } == ["2 stored", "after"])
        }
    }

    // MARK: The same bytes again

    @Test(arguments: [true, false])
    func sameBytesAreStoredOnce(inOneBatch: Bool) throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            for key in ["a", "b", "c"] {
                try store.put(noise(500, seed: 1), at: key)
                if !inOneBatch { store.flush() }
            }
            store.flush()
            let totals = try cache.status().totals
            #expect((totals.objects, totals.resources, totals.bytes) == (1, 3, 500))
            #expect(Tree.files(directory.path("objects")).count == 1)
            #expect(Tree.files(directory.path("tmp")).isEmpty)
            #expect(try cache.verify().whole == 1)
        }
    }

    @Test func oneStagedObjectServesTwoKeysOfABatch() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let object = try store.stage(noise(500, seed: 1))
            for key in ["a", "b", "c"] { store.add(.staged(object), at: key) }
            store.flush()
            #expect(try cache.status().totals.resources == 3)
            #expect(try cache.verify().whole == 1)
        }
    }

    @Test func twoRunsStoreTheSameBytesOnce() throws {
        try withTemporaryDirectory { directory in
            let stores = try (0..<4).map { _ in try Cache.create(at: directory.path).store() }
            let batches = stores.map { CommittedBatches(of: $0) }
            // All stage before anyone commits, so that each has files of its own to publish.
            for (number, store) in stores.enumerated() {
                for seed in 0..<50 {
                    try store.put(noise(400, seed: seed), at: "\(number) \(seed)")
                }
            }
            DispatchQueue.concurrentPerform(iterations: stores.count) { stores[$0].flush() }
            for batch in batches {
                #expect(batch.outcomes.count == 50)
                for outcome in batch.outcomes {
                    #expect(throws: Never.self) { try outcome.result.get() }
                }
            }
            let cache = try Cache.open(at: directory.path)
            let totals = try cache.status().totals
            #expect((totals.objects, totals.resources) == (50, 200))
            let report = try cache.verify()
            #expect(report.whole == 50)
            #expect(report.findings.isEmpty)
            #expect(Tree.files(directory.path("tmp")).isEmpty)
        }
    }

    @Test func lastOfTwoDepositsForAKeyCounts() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            try store.put([1], at: "key")
            try store.put([2], at: "key")
            store.flush()
            #expect(try cache.resource("key")?.object.digest == Digest.reference(of: [2]))
            #expect(try cache.status().totals.resources == 1)
        }
    }

    // MARK: What is already there

    /// A crash may leave anything under an object's name; only a row vouches for it.
    @Test func unvouchedFileIsReplaced() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let bytes = noise(2_000, seed: 1)
            let file = try cache.file(of: bytes)
            try Tree.put([UInt8](repeating: 0, count: 2_000), at: file)
            let store = try cache.store()
            try store.put(bytes, at: "key")
            store.flush()
            #expect(try Tree.bytes(file) == bytes)
            #expect(try cache.verify().whole == 1)
        }
    }

    @Test func vouchedFileIsLeftAlone() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(2_000, seed: 1)
            let cache = try Cache.filled(at: directory.path, with: ["a": bytes])
            var before = stat()
            var after = stat()
            #expect(lstat(try cache.file(of: bytes), &before) == 0)
            let store = try cache.store()
            try store.put(bytes, at: "b")
            #expect(Tree.files(directory.path("tmp")).isEmpty)
            store.flush()
            #expect(lstat(try cache.file(of: bytes), &after) == 0)
            #expect(before.st_ino == after.st_ino)
        }
    }

    @Test(arguments: [nil, 1_999, 2_001])
    func lostOrResizedFileIsStoredAgain(_ size: Int?) throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(2_000, seed: 1)
            let cache = try Cache.filled(at: directory.path, with: ["a": bytes])
            let file = try cache.file(of: bytes)
            if let size {
                try Tree.put([UInt8](repeating: 1, count: size), at: file)
            } else {
                unlink(file)
            }
            let store = try cache.store()
            try store.put(bytes, at: "a")
            store.flush()
            #expect(try Tree.bytes(file) == bytes)
            let report = try cache.verify()
            #expect(report.whole == 1)
            #expect(report.findings.isEmpty)
        }
    }

    // MARK: Unchanged resources

    @Test func unchangedResourceIsFreshAgain() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let object = try store.stage([1, 2])
            store.add(.staged(object), at: "key", receivedAt: Date(timeIntervalSince1970: 1_000))
            store.flush()
            #expect(try cache.resource("key")?.isFresh() == false)
            var validators = Validators()
            validators.etag = "\"2\""
            store.add(.unchanged(object.digest), at: "key", validators: validators)
            store.flush()
            let resource = try #require(try cache.resource("key"))
            #expect(resource.isFresh())
            #expect(resource.validators.etag == "\"2\"")
            #expect(try cache.bytes(of: resource.object) == [1, 2])
        }
    }

    @Test func evictedMeanwhileFailsAlone() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            let gone = try Digest.reference(of: [9])
            store.add(.unchanged(gone), at: "gone", token: 1)
            try store.put([1], at: "there", token: 2)
            store.flush()
            #expect(batches.outcomes.map(\.token) == [1, 2])
            let error = #expect(throws: CacheError.self) { try batches.outcomes[0].result.get() }
            #expect(error?.code == .missing)
            #expect(try cache.resource("gone") == nil)
            #expect(try cache.resource("there") != nil)
        }
    }

    /// Staged while another run's row vouched for the object, which was then evicted.
    @Test func evictedAfterStagingFailsAndLeavesNoRow() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(100, seed: 1)
            let cache = try Cache.filled(at: directory.path, with: ["old": bytes])
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            let object = try store.stage(bytes)
            let index = try CacheIndex(of: CacheDirectory(path: directory.path, create: false))
            try index.write { try $0.execute(sql: "DELETE FROM objects") }
            unlink(try cache.file(of: bytes))
            store.add(.staged(object), at: "new")
            store.flush()
            let error = #expect(throws: CacheError.self) { try batches.outcomes[0].result.get() }
            #expect(error?.code == .missing)
            #expect(try cache.resource("new") == nil)
            #expect(try cache.verify().isClean)
            // Fetched again, it is stored.
            try store.put(bytes, at: "new")
            store.flush()
            #expect(try batches.outcomes[1].result.get() == object.digest)
            #expect(try cache.verify().whole == 1)
        }
    }

    // MARK: Failures

    @Test func failedBatchStoresNothingOfItAndEndsTheRun() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let obstacle = directory.path("objects/sha256")
            do {
                let store = try cache.store()
                let batches = CommittedBatches(of: store)
                // A file where the whole tree belongs: publishing fails, for root as well.
                #expect(rename(obstacle, directory.path("aside")) == 0)
                try Tree.put([0], at: obstacle)
                for seed in 0..<30 {
                    try store.put(noise(100, seed: seed), at: "\(seed)", token: Int64(seed))
                }
                store.flush()
                #expect(batches.outcomes.map(\.token) == (0..<30).map(Int64.init))
                for outcome in batches.outcomes {
                    let error = #expect(throws: CacheError.self) { try outcome.result.get() }
                    #expect(error?.errno == ENOTDIR)
                }
                #expect(Tree.files(directory.path("tmp")).isEmpty)

                // After a sync has failed nothing the kernel says can be trusted: no second try.
                unlink(obstacle)
                #expect(rename(directory.path("aside"), obstacle) == 0)
                try store.put([1], at: "later", token: 99)
                store.flush()
                #expect(batches.outcomes.last?.token == 99)
                #expect(throws: CacheError.self) { try batches.outcomes.last?.result.get() }
                #expect(try cache.status().totals == IndexTotals())
                store.close()
            }
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            // What was renamed before the failure is nobody's, and harms nobody.
            let report = try cache.verify()
            #expect(report.isClean)
            #expect(report.whole == 0)
            let store = try cache.store()
            for seed in 0..<30 { try store.put(noise(100, seed: seed), at: "\(seed)") }
            store.flush()
            #expect(try cache.verify().whole == 30)
        }
    }

    /// Something in the place of one directory of objects is no reason to refuse the others, and what was
    /// refused is stored once the place is free.
    @Test func whatHasNoPlaceFailsAlone() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            defer { store.close() }
            let batches = CommittedBatches(of: store)
            let victim = try Digest.reference(of: noise(100, seed: 0)).hex.prefix(2)
            let obstacle = directory.path("objects/sha256/\(victim)")
            try Tree.put([0], at: obstacle)
            for seed in 0..<30 {
                try store.put(noise(100, seed: seed), at: "\(seed)", token: Int64(seed))
            }
            // The same bytes a second time: they are not there either.
            try store.put(noise(100, seed: 0), at: "twin", token: 30)
            store.flush()
            for outcome in batches.outcomes {
                let seed = outcome.token == 30 ? 0 : Int(outcome.token)
                if try Digest.reference(of: noise(100, seed: seed)).hex.hasPrefix(victim) {
                    let error = #expect(throws: CacheError.self) { try outcome.result.get() }
                    #expect(error?.code == .obstructed)
                    #expect(error?.subject == "objects/sha256/\(victim)")
                } else {
                    #expect(throws: Never.self) { try outcome.result.get() }
                }
            }
            #expect(try cache.resource("twin") == nil)
            #expect(Tree.files(directory.path("tmp")).isEmpty)
            unlink(obstacle)
            try store.put(noise(100, seed: 0), at: "0")
            store.flush()
            #expect(try cache.resource("0") != nil)
            #expect(try cache.verify().isClean)
        }
    }

    @Test func cacheWithoutAnIndexIsNotStoredIn() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.open(at: directory.path)
            let error = #expect(throws: CacheError.self) { _ = try cache.store() }
            #expect(error?.code == .unusable)
            #expect(Tree.names(directory.path).isEmpty)
        }
    }

    // MARK: The end of a run

    @Test func closedStoreLeavesNothingInTemporaryFiles() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            try store.put(noise(200_000, seed: 1), at: "stored")
            store.flush()
            let object = try store.stage(noise(200_000, seed: 2))
            try Tree.put([1], at: store.scratchPath("plan.sqlite"))
            #expect(Tree.files(directory.path("tmp")).count == 2)
            store.close()
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            #expect(try cache.status().temporaries == 0)

            // What comes too late is refused, and leaves nothing either.
            let batches = CommittedBatches(of: store)
            store.add(.staged(object), at: "late")
            store.flush()
            #expect(throws: CacheError.self) { try batches.outcomes.first?.result.get() }
            #expect(throws: CacheError.self) { _ = try store.stage([1]) }
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            #expect(try cache.verify().whole == 1)
        }
    }

    @Test func droppedStoreLeavesNothingInTemporaryFiles() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            do {
                let store = try cache.store()
                _ = try store.stage(noise(200_000, seed: 1))
                #expect(Tree.files(directory.path("tmp")).count == 1)
            }
            #expect(Tree.names(directory.path("tmp")).isEmpty)
        }
    }
}
