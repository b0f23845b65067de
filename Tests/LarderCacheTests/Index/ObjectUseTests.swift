import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct ObjectUseTests {
    private static let bytes = noise(100, seed: 1)

    /// Creates a cache with one object, last used at `instant`.
    private func cache(at path: String, usedAt instant: Date) throws -> Cache {
        let cache = try Cache.create(at: path)
        let store = try cache.store()
        store.add(.staged(try store.stage(Self.bytes)), at: "key", receivedAt: instant)
        store.flush()
        store.close()
        return cache
    }

    private func object(_ cache: Cache) throws -> StoredObject {
        try #require(try cache.resource("key")).object
    }

    private func isNow(_ instant: Date) -> Bool { abs(instant.timeIntervalSinceNow) < 600 }

    @Test func storingOrConfirmingAnObjectUsesIt() throws {
        try withTemporaryDirectory { directory in
            let old = Date(timeIntervalSince1970: 1_000_000)
            let cache = try cache(at: directory.path, usedAt: old)
            #expect(try object(cache).usedAt == old)
            let store = try cache.store()
            let digest = try Digest.reference(of: Self.bytes)
            let contents: [Deposit.Content] = [.unchanged(digest), .kept(digest)]
            for (number, content) in contents.enumerated() {
                let instant = old.addingTimeInterval(Double(number + 1))
                store.add(content, at: "key", receivedAt: instant)
                store.flush()
                #expect(try object(cache).usedAt == instant)
            }
        }
    }

    /// Uses have a precision of one hour, and never move back in time.
    @Test(arguments: [(-3_500.0, false), (-3_700, true), (3_500, false), (3_700, false)])
    func aUseIsRecordedOnceAnHour(ago: Double, isRecorded: Bool) throws {
        try withTemporaryDirectory { directory in
            let then = Date(timeIntervalSinceNow: ago)
            let cache = try cache(at: directory.path, usedAt: then)
            let before = try object(cache)
            try cache.recordUse(of: [before.digest])
            #expect(isNow(try object(cache).usedAt) || !isRecorded)
            #expect((try object(cache).usedAt == before.usedAt) == !isRecorded)
            #expect(ObjectUse.isDue(before.usedAt) == isRecorded)
        }
    }

    @Test func usesOfDeletedObjectsAreIgnored() throws {
        try withTemporaryDirectory { directory in
            let cache = try cache(at: directory.path, usedAt: Date(timeIntervalSince1970: 1))
            let gone = try Digest.reference(of: noise(9, seed: 2))
            try cache.recordUse(of: [gone, try object(cache).digest])
            #expect(isNow(try object(cache).usedAt))
            #expect(try cache.status().totals.objects == 1)
        }
    }

    /// The row was evicted after it was read, and another object has reused its number.
    @Test func aUseIsNotRecordedForAnotherObjectInTheSameRow() throws {
        try withTemporaryDirectory { directory in
            let cache = try cache(at: directory.path, usedAt: Date(timeIntervalSince1970: 1))
            let before = try object(cache)
            let other = try Digest.reference(of: noise(9, seed: 2))
            try cache.recordUse(of: [(row: 1, digest: other)])
            try cache.recordUse(of: [(row: 2, digest: before.digest)])
            #expect(try object(cache).usedAt == before.usedAt)
            try cache.recordUse(of: [(row: 1, digest: before.digest)])
            #expect(isNow(try object(cache).usedAt))
        }
    }

    /// For example on a machine without a clock battery, before it gets the time from the network.
    @Test func anUnsetClockDoesNotAgeObjects() throws {
        try withTemporaryDirectory { directory in
            let (used, unset) = (
                Date(timeIntervalSinceNow: -7_200), Date(timeIntervalSince1970: 60)
            )
            let cache = try cache(at: directory.path, usedAt: used)
            let digest = try object(cache).digest
            let store = try cache.store()
            for content in [.unchanged(digest), .kept(digest)] as [Deposit.Content] {
                let before = try object(cache).usedAt
                store.add(content, at: "key", receivedAt: unset)
                store.flush()
                // The time changes slightly, so that a concurrent eviction notices the use.
                #expect((0.0005...1).contains(try object(cache).usedAt.timeIntervalSince(before)))
            }
            store.close()
            let known: IndexedObject = (row: 1, digest: digest)
            try cache.requireWritable().write { db in
                try ObjectUse.record([digest], at: unset, in: db)
                try ObjectUse.record([known], at: unset, in: db)
            }
            #expect(try abs(object(cache).usedAt.timeIntervalSince(used)) < 1)
        }
    }

    @Test func readersRecordUses() throws {
        try withTemporaryDirectory { directory in
            let cache = try cache(at: directory.path, usedAt: Date(timeIntervalSince1970: 1))
            cache.noteUse(of: try object(cache))
            #expect(isNow(try object(cache).usedAt))
        }
    }
}
