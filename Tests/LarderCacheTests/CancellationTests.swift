import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

/// Cancellation of long operations at any point.
@Suite struct CancellationTests {
    /// Requests cancellation after a number of checks.
    private final class CheckLimit: Sendable {
        private let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }

        @Sendable func isReached() -> Bool {
            left.wrappingSubtract(1, ordering: .relaxed).oldValue <= 0
        }
    }

    private static let contents = Dictionary(
        uniqueKeysWithValues: (0..<300).map { ("\($0)", noise(50, seed: $0)) })

    @Test(arguments: [0, 1, 2, 10, 100, 250])
    func aCancelledVerificationReportsTheObjectsItChecked(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: Self.contents)
            let limit = CheckLimit(count)
            var options = VerifyOptions()
            options.isCancelled = limit.isReached
            let report = try cache.verify(options)
            #expect(report.isInterrupted && !report.isComplete)
            #expect(report.isClean)
            #expect(report.whole <= count)
            let counts = [report.objects, report.treeObjects, report.indexObjects]
            #expect(counts.allSatisfy { $0 == report.whole }, "\(counts)")
            #expect(report.treeBytes == report.indexBytes)
            #expect(report.bytes == report.treeBytes)
        }
    }

    /// SQLite's integrity check runs at the same time as the threads that compare rows with files.
    /// Cancelling the check must not fail these threads.
    @Test func cancellingOneReadDoesNotAffectOtherReads() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: ["a": noise(50, seed: 1)])
            let database = try #require(cache.index)
            let (started, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let sum = Mutex(Result<Int?, any Error>.success(nil))
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                let result = Result {
                    try database.reading {
                        try $0.read { db in
                            db.add(
                                function: DatabaseFunction("meet", argumentCount: 0) { _ in
                                    started.signal()
                                    cancelled.wait()
                                    return 1
                                })
                            // This statement is running when the other read is cancelled.
                            return try Int.fetchOne(
                                db, sql: "SELECT meet() + sum(size) FROM objects")
                        }
                    }
                }
                sum.withLock { $0 = result }
                isDone.signal()
            }
            started.wait()
            #expect(throws: CancellationError.self) {
                try database.reading {
                    try $0.read(unless: CheckLimit(1).isReached) { db in
                        try Int.fetchOne(
                            db,
                            sql: """
                                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                                SELECT sum(i) FROM n
                                """)
                    }
                }
            }
            cancelled.signal()
            isDone.wait()
            #expect(try sum.withLock { try $0.get() } == 51)
        }
    }

    /// The next verification continues at this position. Several interrupted ones cover the whole
    /// cache.
    @Test func aCancelledVerificationKeepsItsPosition() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: Self.contents)
            unlink(try cache.file(of: noise(50, seed: 7)))
            var options = VerifyOptions()
            options.maximumDuration = .seconds(3600)
            var reports: [VerifyReport] = []
            repeat {
                options.isCancelled = CheckLimit(60).isReached
                reports.append(try cache.verify(options))
            } while reports.last?.reachesEnd == false && reports.count < 100
            #expect((3..<100).contains(reports.count))
            #expect(reports.map(\.isInterrupted) == reports.map { !$0.reachesEnd })
            // Only interrupted work is repeated.
            #expect((299..<400).contains(reports.map(\.whole).reduce(0, +)))
            let findings = reports.flatMap(\.findings)
            #expect(findings.allSatisfy { $0.kind == .missing })
            #expect(Set(findings.map(\.subject)).count == 1)
        }
    }

    /// Cancellation is also checked between two chunks of a file.
    @Test func verifyAndReindexStopInsideALargeObject() throws {
        try withTemporaryDirectory { directory in
            let path = try {
                let cache = try Cache.filled(at: directory.path, with: ["a": noise(50, seed: 1)])
                defer { cache.close() }
                return try cache.file(of: noise(50, seed: 1))
            }()
            try makeSlowToRead(path)
            let inode = try Self.inode(directory.path("index.sqlite"))

            var options = VerifyOptions()
            options.isCancelled = CheckLimit(50).isReached
            let verified = try Cache.open(at: directory.path).verify(options)
            #expect(verified.isInterrupted && verified.objects == 0 && verified.indexObjects == 0)
            #expect(verified.findings.isEmpty)

            let report = try Cache.reindex(
                at: directory.path, isCancelled: CheckLimit(50).isReached)
            #expect(report.isInterrupted)
            #expect(report.damaged == 0)
            #expect(try Self.inode(directory.path("index.sqlite")) == inode)
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            #expect(try Cache.open(at: directory.path).status().totals.objects == 1)
        }
    }

    private static func inode(_ path: String) throws -> UInt64 {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return UInt64(status.st_ino)
    }

    @Test(arguments: [0, 1, 5, 40])
    func aCancelledReindexKeepsTheOldIndex(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            let before = try Self.inode(directory.path("index.sqlite"))
            let report = try Cache.reindex(
                at: directory.path, isCancelled: CheckLimit(count).isReached)
            #expect(report.isInterrupted)
            #expect(try Self.inode(directory.path("index.sqlite")) == before)
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            let cache = try Cache.open(at: directory.path)
            #expect(try cache.status().totals.resources == 300)
            #expect(try cache.verify().findings.isEmpty)
        }
    }

    @Test(arguments: [0, 1, 100, 300, 400, 500])
    func aCancelledEvictionStopsBetweenObjects(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            try scene.store(
                (0..<300).map { ("\($0)", noise(50, seed: $0), EvictionScene.instant(Double($0))) })
            var policy = EvictionPolicy()
            policy.maximumObjects = 10
            policy.isCancelled = CheckLimit(count).isReached
            var victims = 0
            let report = try scene.cache.evict(policy) { _ in victims += 1 }
            #expect(report.isInterrupted)
            #expect(report.total.count == victims)
            #expect(report.left.count == 300 - victims)
            #expect(report.missed == (report.left.count > 10 ? [.count] : []))
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            try scene.expectAgreement()
            // The next eviction removes the rest.
            policy.isCancelled = { false }
            #expect(try scene.cache.evict(policy).left.count == 10)
            try scene.expectAgreement()
        }
    }
}
