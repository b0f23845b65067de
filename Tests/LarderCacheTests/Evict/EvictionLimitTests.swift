import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// Limits of evictions, and how long other processes wait for them.
@Suite struct EvictionLimitTests {
    private static let old = EvictionScene.instant(0)

    /// Of ten pinned objects, only the three above the limit are reported.
    @Test func onlyPinnedObjectsAboveTheLimitAreReportedAsHeld() throws {
        try EvictionScene.run { scene in
            try scene.store((0..<10).map { ("\($0)", noise(9, seed: $0), Self.old) })
            _ = try scene.cache.pin(keys((0..<10).map { "\($0)" }))
            let report = try scene.evict { $0.maximumObjects = 7 }.report
            #expect(report.held[.pin]?.count == 3 && report.missed == [.count])
            // Four objects are above the limit. Only the unpinned one can be evicted.
            try scene.store([("free", [1], EvictionScene.instant(5))])
            let other = try scene.evict { $0.maximumObjects = 7 }.report
            #expect(other.held[.pin]?.count == 4 && other.total.count == 1)
        }
    }

    /// Removing a file with other hard links frees no space.
    @Test func objectsWithOtherHardLinksAreNotEvictedForSpace() throws {
        try EvictionScene.run { scene in
            try scene.store((0..<4).map { ("\($0)", noise(9_000, seed: $0), Self.old) })
            let elsewhere = scene.directory.path("elsewhere")
            try Tree.put([], at: "\(elsewhere)/here")
            for number in 0..<3 {
                let file = try scene.cache.file(of: noise(9_000, seed: number))
                #expect(link(file, "\(elsewhere)/\(number)") == 0)
            }
            let report = try scene.evict { $0.minimumFree = .max }.report
            #expect(report.missed == [.free] && report.evicted[.free]?.count == 1)
            #expect(try scene.keys == ["0", "1", "2"])
            try scene.expectAgreement()
        }
    }

    /// Removed files do not always free their space, and other processes may use it.
    @Test func freeSpaceIsMeasuredAfterAnEviction() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", noise(4_000_000, seed: 1), Self.old)])
            let before = try DiskSpace(of: scene.cache.directory.root)
            let file = try scene.cache.file(of: noise(4_000_000, seed: 1))
            // An open file occupies its space until it is closed.
            let descriptor = open(file, O_RDONLY)
            defer { close(descriptor) }
            var policy = EvictionPolicy()
            policy.minimumFree = before.free + 2_000_000_000
            #expect(try scene.cache.evict(policy).missed == [.free])
        }
    }

    /// Older objects are evicted instead of the new ones.
    @Test func limitsIncludeObjectsStoredDuringTheEviction() throws {
        try EvictionScene.run { scene in
            try scene.store((0..<20).map { ("\($0)", noise(9, seed: $0), Self.old) })
            let other = try Cache.open(at: scene.directory.path).store()
            defer { other.close() }
            var policy = EvictionPolicy()
            policy.maximumObjects = 10
            var isFirst = true
            let report = try scene.cache.evict(policy) { _ in
                guard isFirst else { return }
                isFirst = false
                for number in 100..<104 { try other.put(noise(9, seed: number), at: "\(number)") }
                other.flush()
            }
            #expect(report.left.count == 10 && report.missed.isEmpty)
            let stored = try scene.keys.filter { $0.count == 3 }
            #expect(stored.count == 4)
            // If the objects of the run alone exceed the limit, the report says so.
            isFirst = true
            try scene.store([("last", [1], Self.old)])
            policy.maximumObjects = 4
            let late = try scene.cache.evict(policy) { _ in
                guard isFirst else { return }
                isFirst = false
                try other.put(noise(9, seed: 104), at: "104")
                other.flush()
            }
            #expect(late.left.count == 5 && late.missed == [.count])
        }
    }

    /// Other processes wait for one transaction only, even if an object has many URLs.
    @Test func theURLsOfAnObjectAreDeletedInSeveralTransactions() throws {
        try EvictionScene.run { scene in
            let count = 5 * WriteStep.rowLimit
            try scene.store((0..<count).map { ("\($0)", [1], Self.old) })
            let database = try #require(scene.cache.index).writer
            let transactions = Transactions(of: database)
            let report = try scene.evict { $0.maximumObjects = 0 }.report
            #expect(report.total.count == 1 && report.left.count == 0)
            #expect(try scene.keys.isEmpty)
            #expect(transactions.rows.reduce(0, +) >= count + 1)
            #expect(try #require(transactions.rows.max()) <= 2 * WriteStep.rowLimit)
            try scene.expectAgreement()
        }
    }

    /// Half of the URLs are deleted when the object is used. The remaining ones are kept.
    @Test func anObjectUsedWhileItsRowsAreDeletedIsKept() throws {
        try EvictionScene.run { scene in
            let count = 5 * WriteStep.rowLimit
            try scene.store((0..<count).map { ("\($0)", [1], Self.old) })
            let other = try Cache.open(at: scene.directory.path)
            let transactions = try Transactions(of: #require(scene.cache.index).writer)
            var error: (any Error)?
            transactions.onCommit = { [unowned transactions] in
                guard transactions.rows.reduce(0, +) > count / 2 else { return }
                do { try other.recordUse(of: [Digest.reference(of: [1])]) } catch let e {
                    error = e
                }
            }
            let report = try scene.evict { $0.maximumAge = 1_000 }.report
            #expect(error == nil)
            #expect(report.total.count == 0 && report.left.count == 1)
            let left = try scene.keys.count
            #expect(left > 0 && left < count / 2)
            try scene.expectAgreement()
        }
    }
}
