import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

/// Long work that is cancelled ends in order, wherever it is.
@Suite struct CancellationTests {
    /// Cancels when it was asked so often.
    private final class Patience: Sendable {
        private let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }

        @Sendable func isOver() -> Bool {
            left.wrappingSubtract(1, ordering: .relaxed).oldValue <= 0
        }
    }

    private static let contents = Dictionary(
        uniqueKeysWithValues: (0..<300).map { ("\($0)", noise(50, seed: $0)) })

    @Test(arguments: [0, 1, 2, 10, 100, 250])
    func verifyReportsWhatItLookedAt(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: Self.contents)
            let patience = Patience(count)
            var options = VerifyOptions()
            options.isCancelled = patience.isOver
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

    /// SQLite's own check reads beside the threads that compare rows with files: what breaks off
    /// the one is not to fail the others.
    @Test func breakingOffOneReadLeavesTheOthers() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: ["a": noise(50, seed: 1)])
            let database = try #require(cache.index).connections
            let (begun, broken) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let sum = Mutex(Result<Int?, any Error>.success(nil))
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                let result = Result {
                    try database.reading {
                        try $0.read { db in
                            db.add(
                                function: DatabaseFunction("meet", argumentCount: 0) { _ in
                                    begun.signal()
                                    broken.wait()
                                    return 1
                                })
                            // Its statement is under way when the other one is broken off.
                            return try Int.fetchOne(
                                db, sql: "SELECT meet() + sum(size) FROM objects")
                        }
                    }
                }
                sum.withLock { $0 = result }
                isDone.signal()
            }
            begun.wait()
            #expect(throws: CancellationError.self) {
                try database.reading {
                    try $0.read(unless: Patience(1).isOver) { db in
                        try Int.fetchOne(
                            db,
                            sql: """
                                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                                SELECT sum(i) FROM n
                                """)
                    }
                }
            }
            broken.signal()
            isDone.wait()
            #expect(try sum.withLock { try $0.get() } == 51)
        }
    }

    /// The next one goes on there, so that some interrupted ones come to the end.
    @Test func verifyKeepsItsPosition() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: Self.contents)
            unlink(try cache.file(of: noise(50, seed: 7)))
            var options = VerifyOptions()
            options.maximumDuration = .seconds(3600)
            var reports: [VerifyReport] = []
            repeat {
                options.isCancelled = Patience(60).isOver
                reports.append(try cache.verify(options))
            } while reports.last?.reachesEnd == false && reports.count < 100
            #expect((3..<100).contains(reports.count))
            #expect(reports.map(\.isInterrupted) == reports.map { !$0.reachesEnd })
            // What was broken off is looked at again, what was done is not.
            #expect((299..<400).contains(reports.map(\.whole).reduce(0, +)))
            let findings = reports.flatMap(\.findings)
            #expect(findings.allSatisfy { $0.kind == .missing })
            #expect(Set(findings.map(\.subject)).count == 1)
        }
    }

    /// A large file is given up between two of its chunks.
    @Test func verifyAndReindexGiveUpALargeObject() throws {
        try withTemporaryDirectory { directory in
            let path = try {
                let cache = try Cache.filled(at: directory.path, with: ["a": noise(50, seed: 1)])
                defer { cache.close() }
                return try cache.file(of: noise(50, seed: 1))
            }()
            try makeSlowToRead(path)
            let inode = try Self.inode(directory.path("index.sqlite"))

            var options = VerifyOptions()
            options.isCancelled = Patience(50).isOver
            let verified = try Cache.open(at: directory.path).verify(options)
            #expect(verified.isInterrupted && verified.objects == 0 && verified.indexObjects == 0)
            #expect(verified.findings.isEmpty)

            let report = try Cache.reindex(at: directory.path, isCancelled: Patience(50).isOver)
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
    func reindexLeavesTheOldIndex(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            let before = try Self.inode(directory.path("index.sqlite"))
            let report = try Cache.reindex(at: directory.path, isCancelled: Patience(count).isOver)
            #expect(report.isInterrupted)
            #expect(try Self.inode(directory.path("index.sqlite")) == before)
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            let cache = try Cache.open(at: directory.path)
            #expect(try cache.status().totals.resources == 300)
            #expect(try cache.verify().findings.isEmpty)
        }
    }

    /// Whatever went has gone whole, and what is said to be left is.
    @Test(arguments: [0, 1, 100, 300, 400, 500])
    func evictStopsBetweenObjects(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            try scene.store(
                (0..<300).map { ("\($0)", noise(50, seed: $0), EvictionScene.instant(Double($0))) })
            var policy = EvictionPolicy()
            policy.maximumObjects = 10
            policy.isCancelled = Patience(count).isOver
            var victims = 0
            let report = try scene.cache.evict(policy) { _ in victims += 1 }
            #expect(report.isInterrupted)
            #expect(report.total.count == victims)
            #expect(report.left.count == 300 - victims)
            #expect(report.missed == (report.left.count > 10 ? [.count] : []))
            #expect(Tree.names(directory.path("tmp")).isEmpty)
            try scene.expectAgreement()
            // The next one does the rest.
            policy.isCancelled = { false }
            #expect(try scene.cache.evict(policy).left.count == 10)
            try scene.expectAgreement()
        }
    }
}
