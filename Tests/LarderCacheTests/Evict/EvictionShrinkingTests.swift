import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache

/// Shrinking of the index and of the failure table during an eviction.
@Suite struct EvictionShrinkingTests {
    private func pages(_ path: String) throws -> (all: Int, free: Int) {
        try DatabaseQueue(path: path).read { db in
            (
                try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0,
                try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
            )
        }
    }

    private func fill(_ scene: EvictionScene) throws {
        let padding = String(repeating: "x", count: 1_000)
        try scene.store(
            (0..<600).map {
                ("\($0)\(padding)", noise(20, seed: $0), EvictionScene.instant(Double($0)))
            })
    }

    @Test func anEvictionShrinksTheIndex() throws {
        try withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            try fill(scene)
            scene.cache.close()
            let before = try pages(directory.path("index.sqlite"))
            let cache = try Cache.open(at: directory.path)
            var policy = EvictionPolicy()
            policy.maximumObjects = 10
            #expect(try cache.evict(policy).total.count == 590)
            cache.close()
            let after = try pages(directory.path("index.sqlite"))
            #expect(after.all < before.all / 3, "\(before) \(after)")
            let status = try FileManager.default.attributesOfItem(
                atPath: directory.path("index.sqlite"))
            #expect(status[.size] as? Int == after.all * 4096)
        }
    }

    /// Earlier versions created the index without auto-vacuum, so it cannot release pages.
    @Test func anOldIndexShrinksWhenItIsCopiedOrRebuilt() throws {
        try withTemporaryDirectory { directory in
            try fill(EvictionScene(directory))
            let index = directory.path("index.sqlite")
            try DatabaseQueue(path: index).writeWithoutTransaction { db in
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM;
                        CREATE TABLE x AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
                            LIMIT 500) SELECT i, randomblob(4000) FROM n;
                        DROP TABLE x
                        """)
            }
            #expect(try pages(index).free > 400)
            let copy = directory.path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            func copyCache() throws { _ = try Cache.open(at: directory.path).snapshot(to: copy) }
            try copyCache()
            #expect(try pages(copy + "/index.sqlite").free == 0)
            _ = try Cache.reindex(at: directory.path)
            #expect(try pages(index).free == 0)
            let mode = try DatabaseQueue(path: index).read {
                try Int.fetchOne($0, sql: "PRAGMA auto_vacuum")
            }
            #expect(mode == 2)
        }
    }

    @Test func anEvictionForgetsOldFailures() throws {
        try withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            let store = try scene.cache.store()
            store.add(.failed(code: "http-404", status: 404), at: "new")
            store.add(
                .failed(code: "http-404", status: 404), at: "old",
                receivedAt: Date(timeIntervalSinceNow: -FailureTable.lifetime - 60))
            store.flush()
            // Inserted directly, because the store removes old failures with its next batch.
            let index = try scene.cache.requireWritable()
            try index.write { db in
                try db.execute(
                    sql: """
                        INSERT OR REPLACE INTO failures VALUES ('old', NULL, 'timeout', NULL, ?, 1)
                        """,
                    arguments: [Date().timeIntervalSince1970 - FailureTable.lifetime - 60])
            }
            store.close()
            #expect(try scene.cache.status().totals.failures == 2)
            #expect(try scene.evict().report.forgottenFailures == 1)
            #expect(try scene.cache.status().totals.failures == 1)
        }
    }

    /// 20,000 keys of 8 KiB once occupied 335 MB permanently.
    @Test func theFailureTableIsBoundedForLongKeys() throws {
        try withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            let store = try scene.cache.store()
            let padding = String(repeating: "x", count: 8_000)
            for number in 0..<6_000 {
                store.add(
                    .failed(code: "http-404", status: 404), at: "\(number)\(padding)",
                    receivedAt: Date(timeIntervalSinceNow: Double(number - 6_000) / 10))
            }
            store.flush()
            store.close()
            scene.cache.close()
            let kept = try DatabaseQueue(path: directory.path("index.sqlite")).read { db in
                try Row.fetchOne(
                    db, sql: "SELECT count(*), sum(length(key)), max(failed_at) FROM failures")
            }
            #expect(try #require(kept?[1] as Int?) <= FailureTable.byteLimit)
            #expect(try #require(kept?[0] as Int?) > 1_000)
            let size =
                try FileManager.default.attributesOfItem(
                    atPath: directory.path("index.sqlite"))[.size] as? Int
            #expect(try #require(size) < 4 * FailureTable.byteLimit)
        }
    }
}
