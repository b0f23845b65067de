import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Objects whose files have holes, which occupy no space on disk.
@Suite struct SparseFileTests {
    private static let key = "http://a.example/sparse"
    private static let zeros = [UInt8](repeating: 0, count: 8 << 20)

    /// Replaces a file with a hole.
    private func punch(_ path: String, size: Int64) throws {
        unlink(path)
        try Tree.put([], at: path)
        try #require(truncate(path, off_t(size)) == 0)
    }

    private func withHole(
        size: Int64, _ body: (VerifyScene, StoredObject) throws -> Void
    ) throws {
        try VerifyScene.run { scene in
            try punch(scene.file, size: size)
            try scene.execute(
                "UPDATE objects SET size = ? WHERE size = 5000", [size])
            let object = try #require(try scene.cache.resource(scene.key)).object
            #expect(object.size == size)
            try body(scene, object)
        }
    }

    @Test(arguments: [1 << 28, 1 << 34, 1 << 40] as [Int64])
    func anObjectWithALargeHoleIsUnreadable(_ size: Int64) throws {
        try withHole(size: size) { scene, object in
            let report = try scene.cache.verify()
            #expect(report.findings.map(\.kind) == [.unreadable])
            #expect(report.findings.map(\.subject) == [scene.subject])
            #expect(report.findings.map(\.urls) == [[scene.key]])
            #expect(report.whole == 29 && report.bytes == 2_900)
            let reads: [() throws -> Void] = [
                { _ = try scene.cache.bytes(of: object) },
                { _ = try scene.cache.descriptor(of: object) },
                { _ = try scene.cache.outgoing(object) },
                { try scene.cache.forEachPiece(of: object) { _ in Issue.record("a piece") } },
            ]
            for read in reads {
                let error = #expect(throws: CacheError.self) { try read() }
                #expect(error?.isSparse == true && error?.isOfObject == true)
                #expect(error?.code == .obstructed)
            }
        }
    }

    @Test func aSnapshotOmitsAnObjectWithALargeHole() throws {
        try withHole(size: 1 << 34) { scene, object in
            try withTemporaryDirectory { directory in
                let report = try scene.cache.snapshot(to: directory.path("copy"))
                #expect(report.unreadable == [object.digest] && report.damaged.isEmpty)
                #expect(report.objects == 29)
                let copy = try Cache.open(at: directory.path("copy"))
                #expect(try copy.verify().findings.isEmpty)
            }
        }
    }

    @Test func aRepairQuarantinesAnObjectWithALargeHole() throws {
        try withHole(size: 1 << 34) { scene, _ in
            var report = try scene.cache.verify()
            let dropped = try scene.cache.repair(&report)
            #expect(dropped.map(\.key) == [scene.key])
            #expect(Tree.names(scene.root + "/quarantine").count == 1)
        }
    }

    @Test func aRebuiltIndexKeepsTheRowOfAnObjectWithALargeHole() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(5_000, seed: 0)
            let contents = [Self.key: bytes, "http://a.example/whole": noise(100, seed: 1)]
            let file = try Cache.filled(at: directory.path, with: contents).file(of: bytes)
            try punch(file, size: 1 << 34)
            let report = try Cache.reindex(at: directory.path)
            #expect(report.objects == 1 && report.damaged == 1)
            #expect(try Cache.open(at: directory.path).resource(Self.key) != nil)
        }
    }

    @Test func aSparseFileWithoutARowIsOrphaned() throws {
        try withHole(size: 1 << 34) { scene, _ in
            try scene.execute("DELETE FROM resources WHERE key = ?", [scene.key])
            try scene.execute("DELETE FROM objects WHERE size > 5000")
            #expect(try scene.cache.verify().findings.map(\.kind) == [.orphaned])
        }
    }

    /// A file system may store zeros as holes.
    @Test func anObjectOfZerosStoredAsAHoleIsWhole() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let cache = try Cache.filled(at: path, with: [Self.key: Self.zeros])
            let object = try #require(try cache.resource(Self.key)).object
            try punch(cache.absolutePath(of: object.digest), size: object.size)
            // These verifications exceed the budget for holes, unless each of them returns its
            // share.
            for _ in 0..<20 { #expect(try cache.verify().whole == 1) }
            #expect(try cache.bytes(of: object) == Self.zeros)
            var pieces: [UInt8] = []
            try cache.forEachPiece(of: object) { pieces += $0 }
            #expect(pieces == Self.zeros)
            #expect(try cache.outgoing(object).size == object.size)
            close(try cache.descriptor(of: object))
            let report = try cache.snapshot(to: directory.path("copy"))
            #expect(report.objects == 1)
        }
    }

    /// Two of these objects exceed the budget, so threads cannot read them at the same time.
    @Test func readersOfSparseObjectsWaitForTheBudget() throws {
        try withTemporaryDirectory { directory in
            let keys = (1...4).map(String.init)
            let contents = Dictionary(
                uniqueKeysWithValues: keys.enumerated().map {
                    ($1, [UInt8](repeating: 0, count: (40 << 20) + $0))
                })
            let cache = try Cache.filled(at: directory.path("cache"), with: contents)
            for key in keys {
                let object = try #require(try cache.resource(key)).object
                try punch(cache.absolutePath(of: object.digest), size: object.size)
            }
            for _ in 0..<5 { #expect(try cache.verify().whole == 4) }
            let path = directory.path("copy")
            #expect(try cache.snapshot(to: path).objects == 4)
            let copy = try Cache.open(at: path)
            #expect(try copy.verify().whole == 4)
            // The copy is sparse, too.
            let object = try #require(try copy.resource("1")).object
            var status = stat()
            #expect(stat(copy.absolutePath(of: object.digest), &status) == 0)
            #expect(status.st_blocks < 1_000 && Int64(status.st_size) == object.size)
        }
    }

    /// Each hole is smaller than the budget, but all of them exceed it many times over.
    @Test func largeHolesShareABudget() throws {
        try VerifyScene.run { scene in
            let size: Int64 = 30 << 20
            for seed in 1..<30 {
                try punch(scene.cache.file(of: noise(100, seed: seed)), size: size)
            }
            let report = try scene.cache.verify()
            #expect(report.count(.unreadable) + report.count(.corrupt) == 29)
            #expect(report.count(.unreadable) >= 27)
            #expect(report.bytes <= 3 * size)
        }
    }

    /// No file exceeds its `plausibleBytes`, but objects do not get the 1 MiB that is part of it.
    @Test func smallHolesShareABudget() throws {
        try withTemporaryDirectory { directory in
            let contents = (0..<300).map { ("http://a.example/\($0)", noise(100, seed: $0)) }
            let cache = try Cache.filled(
                at: directory.path, with: Dictionary(uniqueKeysWithValues: contents))
            for (_, bytes) in contents { try punch(cache.file(of: bytes), size: 1 << 20) }
            let report = try cache.verify()
            #expect(report.count(.corrupt) == 64 && report.count(.unreadable) == 236)
            #expect(report.bytes == 64 << 20)
        }
    }

    @Test(arguments: [100, 5 << 20]) func piecesAreDeliveredOnlyIfTheDigestMatches(_ count: Int)
        throws
    {
        try withTemporaryDirectory { directory in
            var bytes = noise(count, seed: 7)
            let cache = try Cache.filled(at: directory.path("cache"), with: [Self.key: bytes])
            let object = try #require(try cache.resource(Self.key)).object
            var pieces: [UInt8] = []
            try cache.forEachPiece(of: object) { pieces += $0 }
            #expect(pieces == bytes)
            bytes[count - 1] ^= 1
            try Tree.put(bytes, at: cache.absolutePath(of: object.digest))
            let error = #expect(throws: CacheError.self) {
                try cache.forEachPiece(of: object) { _ in Issue.record("a piece") }
            }
            #expect(error?.code == .corrupt)
        }
    }

    @Test func aGrowingFileIsNotReadForever() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path("file")
            try Tree.put(noise(2_000_000, seed: 1), at: path)
            let file = try FileDescriptor.open(path, flags: O_RDONLY)
            let error = #expect(throws: CacheError.self) {
                try ObjectReader().digest(file, isCancelled: { false }) {
                    (_) throws(CacheError) in truncate(path, off_t(1) << 40)
                }
            }
            #expect(error?.isSparse == true)
        }
    }
}
