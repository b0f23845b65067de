import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache

/// Recovery of a damaged or missing index.
@Suite struct IndexRecoveryTests {
    private static let contents = Dictionary(
        uniqueKeysWithValues: (0..<20).map { ("http://a.example/\($0)", noise(100 + $0, seed: $0)) }
    )

    private func damage(_ path: String, _ bytes: Range<Int>) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(bytes.lowerBound))
        try file.write(contentsOf: [UInt8](repeating: 0xA5, count: bytes.count))
        try file.close()
    }

    @Test func anIntactIndexIsNotRebuilt() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            let cache = try Cache.create(at: directory.path)
            #expect(cache.recovery == nil)
            #expect(try cache.contents() == Self.contents)
        }
    }

    /// The modification times of files become times of rows, whose range is limited.
    @Test(arguments: [Int.min, Int.max]) func objectFilesMayHaveAnyModificationTime(_ seconds: Int)
        throws
    {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            for object in Tree.files(directory.path("objects")) {
                try setTime(of: directory.path("objects/\(object)"), to: seconds)
            }
            for file in ["index.sqlite", "index.snapshot.sqlite"] {
                try FileManager.default.removeItem(atPath: directory.path(file))
            }
            #expect(try Cache.reindex(at: directory.path).objects == 20)
            let rebuilt = try Cache.create(at: directory.path)
            #expect(rebuilt.recovery == nil)
            #expect(try rebuilt.verify().findings.isEmpty)
        }
    }

    /// The header, the byte in it that says whether SQLite may write the file, and a page in the
    /// middle whose damage is only found when it is read.
    @Test(arguments: [0..<100, 18..<19, 8192..<12_288])
    func aDamagedIndexIsSetAsideAndRebuilt(bytes: Range<Int>) throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            try damage(directory.path("index.sqlite"), bytes)
            var cache = try? Cache.create(at: directory.path)
            if cache?.recovery == nil {
                // The first access that finds the damage reports it, and the next opening repairs
                // the index.
                let error = #expect(throws: CacheError.self) { _ = try #require(cache).contents() }
                #expect(error?.code == .damaged)
                _ = cache?.noteDamage(CacheError(.damaged, subject: "index", message: "found"))
                cache?.close()
                cache = try Cache.create(at: directory.path)
            }
            let recovery = try #require(cache?.recovery)
            #expect(recovery.source == .snapshot)
            #expect((recovery.objects, recovery.resources, recovery.damaged) == (20, 20, 0))
            let kept = try #require(recovery.setAside)
            #expect(kept.hasPrefix("index.damaged-2"))
            #expect(Tree.names(directory.path).contains(kept))
            #expect(try #require(cache).contents() == Self.contents)
            #expect(try cache?.verify().findings.isEmpty == true)
            cache?.close()
            #expect(try Cache.create(at: directory.path).recovery == nil)
        }
    }

    /// A flipped bit in a key of the table or of its database index passes SQLite's quick check,
    /// even if two rows then have the same key.
    @Test(arguments: [0, 1], ["x", "8"])
    func aKeyThatDiffersFromItsDatabaseIndexIsRepaired(place: Int, end: String) throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            let path = directory.path("index.sqlite")
            var file = try Data(contentsOf: URL(fileURLWithPath: path))
            let key = Data("http://a.example/7".utf8)
            var places: [Range<Int>] = []
            while let found = file.range(of: key, in: (places.last?.upperBound ?? 0)..<file.count) {
                places.append(found)
            }
            try #require(places.count == 2)
            file.replaceSubrange(places[place], with: key.dropLast() + Data(end.utf8))
            try file.write(to: URL(fileURLWithPath: path))

            #expect(try Cache.reindex(at: directory.path).resources == 20)
            let cache = try Cache.open(at: directory.path)
            #expect(try cache.verify().findings.isEmpty)
            #expect(try cache.contents().count == 20)
        }
    }

    /// Replaces every occurrence of a text with another one of the same length.
    private func replace(_ text: String, by other: String, in path: String) throws {
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        var found = 0
        for start in 0...(bytes.count - text.utf8.count)
        where bytes[start...].starts(with: text.utf8) {
            bytes.replaceSubrange(start..<(start + text.utf8.count), with: other.utf8)
            found += 1
        }
        try #require(found > 0 && text.utf8.count == other.utf8.count)
        try Tree.put(bytes, at: path)
    }

    /// SQLite's integrity check does not find this damage.
    @Test func aRenamedColumnIsDamage() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            try replace(
                "cache_control TEXT", by: "cache_contrml TEXT", in: directory.path("index.sqlite"))
            let findings = try Cache.openDamaged(at: directory.path).verify().findings
            #expect(findings.map(\.kind) == [.index])
            let report = try Cache.reindex(at: directory.path)
            #expect(report.source == .snapshot)
            #expect(try Cache.open(at: directory.path).contents() == Self.contents)
        }
    }

    @Test func keysOutOfOrderEndTheEnumeration() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            // The greatest key becomes the smallest.
            try replace(
                "http://a.example/9", by: "http://a.example/!", in: directory.path("index.sqlite"))
            let cache = try Cache.open(at: directory.path)
            var seen = 0
            let error = #expect(throws: CacheError.self) {
                try cache.forEachResource { _ in
                    seen += 1
                    if seen > 1_000 { throw CancellationError() }
                }
            }
            #expect(error?.code == .damaged)
            #expect(try !cache.verify().isClean)
        }
    }

    @Test func aDamagedRowLosesOnlyItsOwnURL() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            let database = try DatabaseQueue(path: directory.path("index.sqlite"))
            try database.writeWithoutTransaction { db in
                try db.execute(
                    sql: """
                        PRAGMA ignore_check_constraints = ON;
                        UPDATE objects SET digest = x'abcd' WHERE id = 3
                        """)
            }
            try database.close()
            do {
                let cache = try Cache.open(at: directory.path)
                #expect(try cache.verify().count(.index) == 1)
                let error = #expect(throws: CacheError.self) { try cache.forEachResource { _ in } }
                #expect(error?.code == .damaged)
                cache.close()
            }

            let report = try Cache.reindex(at: directory.path)
            #expect(report.source == .index)
            #expect((report.objects, report.resources) == (20, 19))
            let repaired = try Cache.open(at: directory.path)
            let rest = try repaired.contents()
            #expect(rest.count == 19)
            // The URL of the damaged row is reported as missing.
            let findings = try repaired.verify().findings
            #expect(findings.map(\.kind) == [.missing])
            #expect(findings.map(\.urls) == [Self.contents.keys.filter { rest[$0] == nil }])
        }
    }

    /// With a use in 1970, adopted objects would be evicted first.
    @Test func adoptedObjectsCountAsUsedWhenTheyWereStored() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            for name in ["index.sqlite", "index.snapshot.sqlite"] {
                try FileManager.default.removeItem(atPath: directory.path(name))
            }
            _ = try Cache.reindex(at: directory.path)
            let totals = try Cache.open(at: directory.path).status().totals
            #expect(totals.oldestUse == totals.oldest)
            #expect(try #require(totals.oldest).timeIntervalSinceNow > -3600)
        }
    }

    /// SQLite would refuse to write to a copy of such a snapshot.
    @Test func aSnapshotMarkedAsReadOnlyIsNotUsed() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            for name in ["index.sqlite", "index.snapshot.sqlite"] {
                try damage(directory.path(name), 18..<19)
            }
            let report = try Cache.reindex(at: directory.path)
            #expect(report.source == .nothing && report.objects == 20)
            #expect(try Cache.create(at: directory.path).pin { try $0("http://a") }.pinned == 1)
        }
    }

    /// An index of zero bytes must not count as an intact index without rows.
    @Test(arguments: [true, false])
    func aMissingIndexIsRebuiltFromTheSnapshot(isEmptied: Bool) throws {
        for reindexes in [true, false] {
            try withTemporaryDirectory { directory in
                try Cache.filled(at: directory.path, with: Self.contents).close()
                let path = directory.path("index.sqlite")
                try FileManager.default.removeItem(atPath: path)
                if isEmptied { try Tree.put([], at: path) }
                // A reader reports the damage instead of an empty cache.
                let error = #expect(throws: CacheError.self) {
                    _ = try Cache.open(at: directory.path)
                }
                #expect(error?.code == .damaged)
                let findings = try Cache.openDamaged(at: directory.path).verify().findings
                #expect(findings.map(\.kind) == [.index])

                let report =
                    reindexes
                    ? try Cache.reindex(at: directory.path)
                    : try Cache.create(at: directory.path).recovery
                #expect(report?.source == .snapshot)
                #expect((report?.objects, report?.resources) == (20, 20))
                #expect(try Cache.open(at: directory.path).contents() == Self.contents)
            }
        }
    }

    @Test func pinsAreRestoredFromTheSnapshot() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: Self.contents)
            #expect(try cache.pin { try $0("http://a.example/3") }.pinned == 1)
            cache.close()
            try FileManager.default.removeItem(atPath: directory.path("index.sqlite"))
            var pins: [String] = []
            try Cache.create(at: directory.path).forEachPin { pins.append($0) }
            #expect(pins == ["http://a.example/3"])
        }
    }

    @Test func objectsAreAdoptedIfThereIsNoSnapshot() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            for name in ["index.sqlite", "index.snapshot.sqlite"] {
                try FileManager.default.removeItem(atPath: directory.path(name))
            }
            let cache = try Cache.create(at: directory.path)
            #expect(cache.recovery?.source == .nothing)
            #expect(cache.recovery?.objects == 20)
            #expect(cache.recovery?.setAside == nil)
            #expect(try cache.status().totals.objects == 20)
            #expect(
                try cache.status().totals.bytes
                    == Int64(Self.contents.values.map(\.count).reduce(0, +)))
            // Storing the same bytes again adds no object, and gives the existing one a URL.
            let store = try cache.store()
            defer { store.close() }
            let staged = try store.stage(
                noise(100, seed: 0), attributes: .init(mediaType: "image/png"))
            store.add(.staged(staged), at: "key")
            store.flush()
            let object = try #require(try cache.resource("key")).object
            #expect(object.mediaType == "image/png")
            #expect(try cache.status().totals.objects == 20)
        }
    }

    /// From the index, both URLs are kept as damaged. From a snapshot, only the URL whose file
    /// exists is kept, because the other object may have been evicted since then.
    @Test(arguments: [true, false]) func damagedAndMissingObjectsAreNotAdopted(hasIndex: Bool)
        throws
    {
        try withTemporaryDirectory { directory in
            let (damaged, missing) = try {
                let cache = try Cache.filled(at: directory.path, with: Self.contents)
                return (
                    try #require(try cache.resource("http://a.example/3")).object,
                    try #require(try cache.resource("http://a.example/4")).object
                )
            }()
            chmod(directory.path(damaged.path), 0o644)
            try damage(directory.path(damaged.path), 0..<1)
            try FileManager.default.removeItem(atPath: directory.path(missing.path))
            if !hasIndex {
                try FileManager.default.removeItem(atPath: directory.path("index.sqlite"))
            }
            let report = try Cache.reindex(at: directory.path)
            #expect(report.source == (hasIndex ? .index : .snapshot))
            #expect((report.objects, report.resources, report.damaged) == (18, 18, 1))
            var expected = Self.contents
            expected["http://a.example/3"] = nil
            expected["http://a.example/4"] = nil
            let cache = try Cache.create(at: directory.path)
            #expect(try cache.contents() == expected)

            var verification = try cache.verify()
            let known = try cache.repair(&verification)
            let lost = ["http://a.example/3"] + (hasIndex ? ["http://a.example/4"] : [])
            #expect(known.map(\.url).sorted() == lost)
        }
    }

    @Test func reindexingKeepsTheMetadataOfAnIntactIndex() throws {
        try withTemporaryDirectory { directory in
            let before = try {
                let cache = try Cache.filled(at: directory.path, with: Self.contents)
                return try #require(try cache.resource("http://a.example/7"))
            }()
            let report = try Cache.reindex(at: directory.path)
            #expect(report.setAside == nil)
            let after = try #require(
                try Cache.open(at: directory.path).resource("http://a.example/7"))
            #expect(after.validators == before.validators)
            #expect(after.receivedAt == before.receivedAt)
            #expect(Tree.names(directory.path).filter { $0.hasPrefix("index.damaged") }.isEmpty)
        }
    }

    @Test func reindexingFailsWhileTheCacheIsInUse() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: Self.contents)
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.reindex(at: directory.path)
            }
            #expect(error?.code == .locked)
            cache.close()
        }
    }

    @Test func anIndexOfANewerVersionIsNeverChanged() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            let path = directory.path("index.sqlite")
            let database = try DatabaseQueue(path: path)
            try database.write { db in
                try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: from the future')")
            }
            try database.close()
            for open in Cache.openings {
                let error = #expect(throws: CacheError.self) { _ = try open(directory.path) }
                #expect(error?.code == .index)
                #expect(error?.message.contains("newer version") == true)
            }
            #expect(throws: CacheError.self) { _ = try Cache.reindex(at: directory.path) }
            let rows = try DatabaseQueue(path: path).read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM resources")
            }
            #expect(rows == 20)
            #expect(Tree.names(directory.path).filter { $0.hasPrefix("index.damaged") }.isEmpty)
        }
    }

    /// A commit between the copy of the rows and the replacement of the file would be lost,
    /// although it was reported as stored.
    @Test func anIndexIsLockedWhileItIsReplaced() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path, with: Self.contents).close()
            var configuration = Configuration()
            configuration.busyMode = .immediateError
            let writer = try DatabaseQueue(
                path: directory.path("index.sqlite"), configuration: configuration)
            let answers = Answers()
            let root = try CacheDirectory(path: directory.path, create: false)
            let report = try IndexRecovery(root).rebuild(isCancelled: {
                answers.add(isBusy(writer))
                return false
            })
            #expect(report.source == .index)
            // The index is writable while it is checked, and locked once its rows are copied.
            let refusals = answers.all.drop { !$0 }
            #expect(refusals.count > Self.contents.count)
            #expect(refusals.allSatisfy { $0 })
        }
    }

    private func isBusy(_ database: DatabaseQueue) -> Bool {
        do {
            try database.writeWithoutTransaction {
                try $0.execute(sql: "BEGIN IMMEDIATE; ROLLBACK")
            }
            return false
        } catch {
            return (error as? DatabaseError)?.resultCode == .SQLITE_BUSY
        }
    }

    private final class Answers: @unchecked Sendable {
        // Unchecked because `all` is a variable. Only one thread uses it.
        private(set) var all: [Bool] = []
        func add(_ answer: Bool) { all.append(answer) }
    }
}
