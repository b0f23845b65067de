import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache
@testable import LarderCore

/// Findings if the object tree and the index disagree, or the index is damaged.
@Suite struct VerifierDisagreementTests {
    // MARK: Files that are not in the index

    @Test func anIntactObjectWithoutARowIsOrphaned() throws {
        try VerifyScene.run { scene in
            let bytes = noise(10, seed: 99)
            try Tree.put(bytes, at: scene.cache.file(of: bytes))
            let hex = ReferenceSHA256.hex(bytes)
            try scene.expect(
                .orphaned, at: "objects/sha256/\(hex.prefix(2))/\(hex)", urls: [], whole: 30)
        }
    }

    /// A power cut may leave such a file if its row was never committed.
    @Test func anEmptyFileWithoutARowIsOrphaned() throws {
        try VerifyScene.run { scene in
            let bytes = noise(10, seed: 99)
            try Tree.put([], at: scene.cache.file(of: bytes))
            let hex = ReferenceSHA256.hex(bytes)
            try scene.expect(
                .orphaned, at: "objects/sha256/\(hex.prefix(2))/\(hex)", urls: [], whole: 30)
        }
    }

    @Test func anObjectInTheWrongDirectoryIsMisplaced() throws {
        try VerifyScene.run { scene in
            let hex = ReferenceSHA256.hex(scene.bytes)
            let other = hex.hasPrefix("00") ? "01" : "00"
            try Tree.put(scene.bytes, at: scene.root + "/objects/sha256/\(other)/\(hex)")
            try scene.expect(
                .misplaced, at: "objects/sha256/\(other)/\(hex)", urls: [], whole: 30)
        }
    }

    @Test(arguments: ["notes.txt", "ab.txt", "abc/file", "AB/file", ".DS_Store"])
    func aForeignFileInTheObjectTreeIsReported(_ name: String) throws {
        try VerifyScene.run { scene in
            try Tree.put([1], at: scene.root + "/objects/sha256/\(name)")
            try scene.expect(
                .foreign, at: "objects/sha256/\(name.split(separator: "/")[0])", urls: [],
                whole: 30)
        }
    }

    @Test(arguments: ["evil", "md5"]) func aForeignFileNextToTheObjectTreeIsReported(_ name: String)
        throws
    {
        try VerifyScene.run { scene in
            try Tree.put([1], at: scene.root + "/objects/\(name)")
            try scene.expect(.foreign, at: "objects/\(name)", urls: [], whole: 30)
        }
    }

    /// The row and the file are deleted after the verification has read the rows.
    @Test func anObjectEvictedDuringAVerificationIsNotMissing() throws {
        try withTemporaryDirectory { directory in
            // Two objects in one directory, so that a check follows the reading of the rows.
            var byDirectory: [UInt8: [UInt8]] = [:]
            var pair: (victim: [UInt8], other: [UInt8], byte: UInt8)?
            for seed in 0..<257 {
                let bytes = noise(10, seed: seed)
                let first = ReferenceSHA256.digest(bytes)[0]
                if let twin = byDirectory[first] {
                    pair = (twin, bytes, first)
                    break
                }
                byDirectory[first] = bytes
            }
            let (victim, other, leading) = try #require(pair)
            let cache = try Cache.filled(
                at: directory.path, with: ["victim": victim, "other": other])
            unlink(try cache.file(of: victim))
            let scene = directory.path("index.sqlite")
            let digest = Data(ReferenceSHA256.digest(victim))
            let evictions = Mutex(0)
            var options = VerifyOptions()
            // Called on the thread that is about to read the rows.
            options.selection = .named { byte in
                if byte == leading { Thread.current.threadDictionary["armed"] = true }
                return Set([victim, other].compactMap { try? Digest.reference(of: $0) })
            }
            // Called on the same thread after it has read the rows.
            options.isCancelled = {
                guard Thread.current.threadDictionary["armed"] != nil else { return false }
                Thread.current.threadDictionary["armed"] = nil
                let queue = try? DatabaseQueue(path: scene)
                try? queue?.write {
                    try $0.execute(
                        sql: "DELETE FROM resources WHERE key = 'victim'")
                    try $0.execute(
                        sql: "DELETE FROM objects WHERE digest = ?", arguments: [digest])
                }
                evictions.withLock { $0 += 1 }
                return false
            }
            let report = try cache.verify(options)
            #expect(evictions.withLock { $0 } == 1)
            #expect(report.indexObjects == 2 && report.whole == 1)
            #expect(report.findings.isEmpty, "\(report.findings)")
        }
    }

    @Test func aForeignFileNextToAnObjectIsReported() throws {
        try VerifyScene.run { scene in
            try Tree.put([1], at: try scene.file + ".part")
            try scene.expect(.foreign, at: scene.subject + ".part", urls: [], whole: 30)
        }
    }

    @Test func leftoverTemporaryFilesAreCounted() throws {
        try VerifyScene.run { scene in
            try Tree.put([1], at: scene.root + "/tmp/run-dead/1")
            let report = try scene.cache.verify()
            try Tree.put([1], at: scene.root + "/tmp/foreign")
            let store = try scene.cache.store()
            defer { store.close() }
            #expect(report.temporaries == 1 && report.leftovers == 1)
            let later = try scene.cache.verify()
            // The store has swept the dead run and created its own directory.
            #expect(later.temporaries == 2 && later.leftovers == 1)
            #expect(report.isClean)
            #expect(FileManager.default.fileExists(atPath: scene.root + "/tmp/foreign"))
        }
    }

    /// A rebuild adopts the objects, so they are not reported as orphans.
    @Test func aMissingIndexIsTheOnlyFinding() throws {
        try withTemporaryDirectory { directory in
            do { _ = try VerifyScene(directory) }
            for name in CacheLayout.indexFiles { unlink(directory.path(name)) }
            try Tree.put([1], at: directory.path("tmp/run-dead/1"))
            let report = try Cache.openDamaged(at: directory.path).verify()
            #expect(report.findings.map(\.kind) == [.index])
            #expect(report.whole == 30)
            #expect(report.temporaries == 1)
            #expect(!report.isClean)
        }
    }

    @Test(arguments: [0o644, 0o400, 0o4444]) func aWrongFileModeIsReported(_ mode: Int) throws {
        try VerifyScene.run { scene in
            chmod(try scene.file, mode_t(mode))
            try scene.expect(.mode, at: scene.subject, urls: [], whole: 30)
        }
    }

    @Test func totalsOfTheIndexAndOfTheTreeAreSeparate() throws {
        try VerifyScene.run { scene in
            unlink(try scene.file)
            let bytes = noise(10, seed: 99)
            try Tree.put(bytes, at: scene.cache.file(of: bytes))
            let report = try scene.cache.verify()
            #expect((report.indexObjects, report.indexBytes) == (30, 7_900))
            #expect((report.treeObjects, report.treeBytes) == (30, 2_910))
        }
    }

    // MARK: The index itself

    /// Objects can be checked without an index, because their names are their digests.
    @Test func objectsAreCheckedDespiteAnUnreadableIndex() throws {
        try VerifyScene.run { scene in
            scene.cache.close()
            try scene.change { $0.reversed() }
            for name in CacheLayout.indexFiles { unlink("\(scene.root)/\(name)") }
            try Tree.put([UInt8](repeating: 0x5A, count: 32_768), at: scene.root + "/index.sqlite")
            #expect(throws: CacheError.self) { _ = try Cache.open(at: scene.root) }
            let report = try Cache.openDamaged(at: scene.root).verify()
            #expect(report.findings.map(\.kind) == [.index, .corrupt])
            #expect(report.findings.map(\.subject) == ["index.sqlite", scene.subject])
            #expect(report.whole == 29 && report.objects == 30)
        }
    }

    /// The damage is in a page that is read late.
    @Test func objectsAreCheckedDespiteADamagedPageOfTheIndex() throws {
        try VerifyScene.run { scene in
            scene.cache.close()
            let index = scene.root + "/index.sqlite"
            var bytes = try Tree.bytes(index)
            let queue = try DatabaseQueue(path: index)
            let page = try queue.read { db in
                try Int.fetchOne(
                    db, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'objects'")
            }
            try queue.close()
            let start = (try #require(page) - 1) * 4096
            bytes.replaceSubrange(start..<start + 4096, with: [UInt8](repeating: 0xA5, count: 4096))
            try Tree.put(bytes, at: index)
            let report = try Cache.openDamaged(at: scene.root).verify()
            #expect(!report.isClean)
            #expect(Set(report.findings.map(\.kind)) == [.index])
            #expect(report.whole == 30)
        }
    }

    @Test func anIndexOfANewerVersionIsNotReportedAsDamaged() throws {
        try VerifyScene.run { scene in
            try scene.execute("INSERT INTO grdb_migrations VALUES ('99: to come')")
            scene.cache.close()
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.openDamaged(at: scene.root)
            }
            #expect(error?.message.contains("newer version") == true)
        }
    }

    @Test func aWrongSizeInARowIsAFindingOfTheIndex() throws {
        try VerifyScene.run { scene in
            try scene.execute(
                "UPDATE objects SET size = size + 1 WHERE digest = ?",
                [Data(ReferenceSHA256.digest(scene.bytes))])
            try scene.expect(.index, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test func aResourceWithoutAnObjectRowIsAFindingOfTheIndex() throws {
        try VerifyScene.run { scene in
            try scene.execute(
                "DELETE FROM objects WHERE digest = ?",
                [Data(ReferenceSHA256.digest(scene.bytes))])
            let report = try scene.cache.verify()
            #expect(report.findings.map(\.kind) == [.index, .orphaned])
            #expect(report.findings.first?.subject == "index.sqlite")
            #expect(!report.isClean)
        }
    }
}
