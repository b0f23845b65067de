import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache
@testable import LarderCore

/// Deposits of bytes that are stored already, or were stored before.
@Suite(.timeLimit(.minutes(30))) struct StoreReuseTests {
    // MARK: Identical bytes

    @Test(arguments: [true, false])
    func identicalBytesAreStoredOnce(inOneBatch: Bool) throws {
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

    /// Deposits of the same object, of another one, and of the first one again.
    @Test func aNewDepositReplacesTheMetadataOfAResource() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            for (round, seed) in [1, 1, 2, 1].enumerated() {
                let object = try store.stage(noise(500, seed: seed))
                var validators = Validators()
                validators.etag = "\"\(round)\""
                validators.lastModified = "modified \(round)"
                validators.date = "date \(round)"
                validators.age = Double(round)
                validators.cacheControl = "max-age=\(round)"
                validators.expires = "expires \(round)"
                validators.vary = "field-\(round)"
                let instant = Date(timeIntervalSince1970: 1_000_000 + Double(round))
                let variant = try Digest.reference(of: [UInt8(round)])
                store.add(
                    Deposit(
                        key: "key", url: "url-\(round)",
                        responseURL: "response-\(round)", validators: validators,
                        variant: variant, receivedAt: instant,
                        content: .staged(object)),
                    for: nil
                ) {}
                store.flush()
                let resource = try #require(try cache.resource("key"))
                #expect(resource.object.digest == object.digest)
                #expect(resource.url == "url-\(round)")
                #expect(resource.responseURL == "response-\(round)")
                #expect(resource.validators == validators)
                #expect(resource.variant == variant)
                #expect(resource.receivedAt == instant)
                let expiry = Freshness.expiry(of: validators, receivedAt: instant, delay: 0)
                #expect(resource.freshUntil == expiry)
            }
        }
    }

    @Test func oneStagedObjectServesSeveralKeysOfABatch() throws {
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

    @Test func concurrentRunsStoreIdenticalBytesOnce() throws {
        try withTemporaryDirectory { directory in
            let stores = try (0..<4).map { _ in try Cache.create(at: directory.path).store() }
            let batches = stores.map { CommittedBatches(of: $0) }
            // All runs stage before the first commit, so that each has separate files to publish.
            for (number, batch) in batches.enumerated() {
                for seed in 0..<50 {
                    try batch.put(noise(400, seed: seed), at: "\(number) \(seed)")
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

    @Test func theLastOfTwoDepositsForAKeyWins() throws {
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

    // MARK: Existing files

    /// A crash may leave a file with any content under the name of an object. Only files with a row
    /// in the index are known to be correct.
    @Test func aFileWithoutARowIsReplaced() throws {
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

    @Test func aFileWithARowIsNotReplaced() throws {
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
    func aMissingOrResizedFileIsStoredAgain(_ size: Int?) throws {
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

    @Test func anUnchangedResourceIsFreshAgain() throws {
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

    @Test func aDepositOfAnEvictedObjectFailsAlone() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            let gone = try Digest.reference(of: [9])
            batches.add(.unchanged(gone), at: "gone", token: 1)
            try batches.put([1], at: "there", token: 2)
            store.flush()
            #expect(batches.outcomes.map(\.token) == [1, 2])
            let error = #expect(throws: CacheError.self) { try batches.outcomes[0].result.get() }
            #expect(error?.code == .missing)
            #expect(try cache.resource("gone") == nil)
            #expect(try cache.resource("there") != nil)
        }
    }

    /// The object is stored already when it is staged, and evicted before the commit.
    @Test func aDepositOfAnObjectEvictedAfterStagingLeavesNoRow() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(100, seed: 1)
            let cache = try Cache.filled(at: directory.path, with: ["old": bytes])
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            let object = try store.stage(bytes)
            let index = try CacheIndex(of: CacheDirectory(path: directory.path, create: false))
            try index.write { try $0.execute(sql: "DELETE FROM objects") }
            unlink(try cache.file(of: bytes))
            batches.add(.staged(object), at: "new")
            store.flush()
            let error = #expect(throws: CacheError.self) { try batches.outcomes[0].result.get() }
            #expect(error?.code == .missing)
            #expect(try cache.resource("new") == nil)
            #expect(try cache.verify().isClean)
            // A second download is stored.
            try batches.put(bytes, at: "new")
            store.flush()
            #expect(try batches.outcomes[1].result.get() == object.digest)
            #expect(try cache.verify().whole == 1)
        }
    }
}
