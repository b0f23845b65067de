import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite(.timeLimit(.minutes(30))) struct StoreTests {
    // MARK: Commits

    @Test func aDepositBecomesVisibleWithItsCommit() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            let bytes = noise(3_000, seed: 1)
            let attributes = ObjectAttributes(mediaType: "image/png", width: 3, height: 4)
            var validators = Validators()
            validators.etag = "\"1\""
            batches.add(
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

    /// Once an outcome is reported, every process can read the resource.
    @Test func outcomesAreReportedOnceResourcesCanBeRead() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let other = try Cache.open(at: directory.path)
            let seen = Mutex<[String: Bool]>([:])
            let depositor = OnCommit { outcomes in
                for outcome in outcomes {
                    let token = outcome.token ?? -1
                    let key = "key \(token)"
                    let object = (try? other.resource(key))?.object
                    let bytes = object.flatMap { try? other.bytes(of: $0) }
                    seen.withLock { $0[key] = bytes == noise(100, seed: Int(token)) }
                }
            }
            for token in 0..<20 {
                try store.put(
                    noise(100, seed: token), at: "key \(token)", token: Int64(token), for: depositor
                )
            }
            store.flush()
            #expect(seen.withLock { $0.count } == 20)
            #expect(seen.withLock { $0.values.allSatisfy { $0 } })
        }
    }

    @Test func objectFilesAreReadOnlyDespiteTheUmask() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            // The umask applies to the whole process. No other test depends on the permissions it
            // removes.
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

    @Test(.timeLimit(.minutes(30))) func aFullBatchIsCommittedWithoutWaiting() async throws {
        try await withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce([1, 2, 3])
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            let depositor = OnCommit { continuation.yield($0.count) }
            var batches = stream.makeAsyncIterator()
            var shortest = Duration.seconds(3600)
            // A commit to a busy disk may take a second, but not every time.
            for _ in 0..<60 where shortest >= .seconds(Store.batchInterval) {
                let start = ContinuousClock.now
                for token in 0..<Store.batchLimit {
                    store.add(
                        .unchanged(digest), at: "\(token)", token: Int64(token), for: depositor)
                }
                #expect(await batches.next() == Store.batchLimit)
                shortest = min(shortest, .now - start)
            }
            #expect(shortest < .seconds(Store.batchInterval))
        }
    }

    @Test(.timeLimit(.minutes(30))) func aPartialBatchIsCommittedAfterTheBatchInterval()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce([1, 2, 3])
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            let depositor = OnCommit { continuation.yield($0.count) }
            var batches = stream.makeAsyncIterator()
            for _ in 0..<2 {
                let start = ContinuousClock.now
                for key in ["a", "b", "c"] {
                    store.add(.unchanged(digest), at: key, for: depositor)
                }
                #expect(await batches.next() == 3)
                // The deposits are not committed one by one.
                #expect(.now - start >= .seconds(Store.batchInterval))
            }
        }
    }

    /// Then commits wait, and the store accepts two batches in advance.
    @Test(.timeLimit(.minutes(30))) func aBlockedDepositorDoesNotDelayTheNextCommits() async throws
    {
        try await withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let digest = try store.storeAtOnce([1])
            let release = DispatchSemaphore(value: 0)
            let accepted = Mutex(0)
            let tokens = Mutex<[Int64]>([])
            let depositor = OnCommit { outcomes in
                release.wait()
                release.signal()
                tokens.withLock { $0 += outcomes.compactMap(\.token) }
            }
            func add(_ token: Int) {
                let deposit = Deposit(
                    context: Int64(token), key: "\(token)", url: "\(token)",
                    validators: Validators(), receivedAt: Date(), content: .unchanged(digest))
                store.add(deposit, for: depositor) { accepted.withLock { $0 += 1 } }
            }
            for token in 0...Store.reportLimit {
                add(token)
                while try cache.resource("\(token)") == nil { await Task.yield() }
            }
            let last = Store.reportLimit + 2 * Store.batchLimit + 10
            for token in Store.reportLimit + 1...last { add(token) }
            #expect(accepted.withLock { $0 } == Store.reportLimit + 2 * Store.batchLimit)
            #expect(tokens.withLock { $0.isEmpty })
            release.signal()
            store.flush()
            #expect(accepted.withLock { $0 } == last + 1)
            #expect(tokens.withLock { $0 } == Array(0...Int64(last)))
        }
    }

    @Test func depositorsReceiveOnlyTheirOwnOutcomes() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let (first, second) = (CommittedBatches(of: store), CommittedBatches(of: store))
            for token in 0..<10 {
                try (token % 3 == 0 ? first : second)
                    .put([UInt8(token)], at: "\(token)", token: Int64(token))
            }
            try store.put([99], at: "unreported", token: 99)
            store.flush()
            #expect(first.outcomes.map(\.token) == [0, 3, 6, 9])
            #expect(second.outcomes.map(\.token) == [1, 2, 4, 5, 7, 8])
            #expect((first.sizes, second.sizes) == ([4], [6]))
        }
    }

    @Test func afterCommitsWaitsForTheCommit() throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path).store()
            let order = Mutex<[String]>([])
            let depositor = OnCommit { outcomes in
                order.withLock { $0.append("\(outcomes.count) stored") }
            }
            try store.put([1], at: "a", for: depositor)
            try store.put([2], at: "b", for: depositor)
            store.flush()
            store.afterCommits { order.withLock { $0.append("after") } }
            store.flush()
            #expect(order.withLock { $0 } == ["2 stored", "after"])
        }
    }

    // MARK: Failures

    @Test func aFailedBatchStoresNothingAndEndsTheRun() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let obstacle = directory.path("objects/sha256")
            do {
                let store = try cache.store()
                let batches = CommittedBatches(of: store)
                // A file in place of the object tree makes publishing fail, even for root.
                #expect(rename(obstacle, directory.path("aside")) == 0)
                try Tree.put([0], at: obstacle)
                for seed in 0..<30 {
                    try batches.put(noise(100, seed: seed), at: "\(seed)", token: Int64(seed))
                }
                store.flush()
                #expect(batches.outcomes.map(\.token) == (0..<30).map(Int64.init))
                for outcome in batches.outcomes {
                    let error = #expect(throws: CacheError.self) { try outcome.result.get() }
                    #expect(error?.errno == ENOTDIR)
                }
                #expect(Tree.files(directory.path("tmp")).isEmpty)

                // After a failed sync, later results of the kernel cannot be trusted. The store
                // does not retry.
                unlink(obstacle)
                #expect(rename(directory.path("aside"), obstacle) == 0)
                #expect(try cache.status().totals == IndexTotals())
                try batches.put([1], at: "later", token: 99)
                store.flush()
                #expect(batches.outcomes.last?.token == 99)
                #expect(throws: CacheError.self) { try batches.outcomes.last?.result.get() }
                #expect(try cache.status().totals == IndexTotals())
                store.close()
            }
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            // Files renamed before the failure have no rows, and do no harm.
            let report = try cache.verify()
            #expect(report.isClean)
            #expect(report.whole == 0)
            let store = try cache.store()
            for seed in 0..<30 { try store.put(noise(100, seed: seed), at: "\(seed)") }
            store.flush()
            #expect(try cache.verify().whole == 30)
        }
    }

    /// A file in place of one fan-out directory does not affect other objects. Once it is removed,
    /// the failed deposit can be repeated.
    @Test func aBlockedDirectoryFailsOnlyItsOwnDeposits() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            defer { store.close() }
            let batches = CommittedBatches(of: store)
            let victim = try Digest.reference(of: noise(100, seed: 0)).hex.prefix(2)
            let obstacle = directory.path("objects/sha256/\(victim)")
            try Tree.put([0], at: obstacle)
            for seed in 0..<30 {
                try batches.put(noise(100, seed: seed), at: "\(seed)", token: Int64(seed))
            }
            // A second deposit of the same bytes fails, too.
            try batches.put(noise(100, seed: 0), at: "twin", token: 30)
            store.flush()
            for outcome in batches.outcomes {
                let token = outcome.token ?? -1
                let seed = token == 30 ? 0 : Int(token)
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
            try batches.put(noise(100, seed: 0), at: "0")
            store.flush()
            #expect(try cache.resource("0") != nil)
            #expect(try cache.verify().isClean)
        }
    }

    @Test func aCacheWithoutAnIndexHasNoStore() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.open(at: directory.path)
            let error = #expect(throws: CacheError.self) { _ = try cache.store() }
            #expect(error?.code == .unusable)
            #expect(Tree.names(directory.path).isEmpty)
        }
    }

    // MARK: The end of a run

    @Test func aClosedStoreLeavesNoTemporaryFiles() throws {
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

            // Late deposits are refused, and leave no files, either.
            let batches = CommittedBatches(of: store)
            batches.add(.staged(object), at: "late")
            store.flush()
            #expect(throws: CacheError.self) { try batches.outcomes.first?.result.get() }
            #expect(throws: CacheError.self) { _ = try store.stage([1]) }
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            #expect(try cache.verify().whole == 1)
        }
    }

    @Test func aReleasedStoreLeavesNoTemporaryFiles() throws {
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
