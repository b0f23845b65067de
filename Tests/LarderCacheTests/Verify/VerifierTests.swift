import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

@Suite struct VerifierTests {
    private typealias Kind = VerifyReport.Finding.Kind

    /// A cache of a few objects, one of which comes to harm.
    private struct Scene {
        let root: String
        let cache: Cache
        let bytes = noise(5_000, seed: 0)
        let key = "http://a.example/victim"

        init(_ directory: TemporaryDirectory) throws {
            root = directory.path
            var contents = [key: bytes]
            for seed in 1..<30 { contents["http://a.example/\(seed)"] = noise(100, seed: seed) }
            cache = try Cache.filled(at: root, with: contents)
            #expect(try cache.verify().findings.isEmpty)
        }

        var file: String { get throws { try cache.file(of: bytes) } }
        /// Its path beneath the root, as reports name it.
        var subject: String {
            let hex = ReferenceSHA256.hex(bytes)
            return "objects/sha256/\(hex.prefix(2))/\(hex)"
        }

        func change(_ change: ([UInt8]) -> [UInt8]) throws {
            try Tree.put(change(bytes), at: try file)
        }

        /// Changes rows behind the index's back, without its constraints.
        func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            let queue = try DatabaseQueue(
                path: root + "/index.sqlite", configuration: configuration)
            try queue.write { try $0.execute(sql: sql, arguments: arguments) }
        }
    }

    private func withScene(_ body: (Scene) throws -> Void) throws {
        try withTemporaryDirectory { try body(try Scene($0)) }
    }

    /// Expects one finding and no other, and the other objects to be found whole.
    private func expect(
        _ kind: Kind, at subject: String, urls: [String], whole: Int, _ scene: Scene,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let report = try scene.cache.verify()
        #expect(report.findings.map(\.kind) == [kind], sourceLocation: sourceLocation)
        #expect(report.findings.map(\.subject) == [subject], sourceLocation: sourceLocation)
        #expect(report.findings.map(\.urls) == [urls], sourceLocation: sourceLocation)
        #expect(report.whole == whole, sourceLocation: sourceLocation)
        #expect(report.isClean == !kind.isCorruption, sourceLocation: sourceLocation)
        for other in Kind.allCases {
            #expect(report.count(other) == (other == kind ? 1 : 0), sourceLocation: sourceLocation)
        }
    }

    // MARK: Whole

    @Test func wholeCacheIsCounted() throws {
        try withScene { scene in
            let report = try scene.cache.verify()
            #expect((report.objects, report.whole, report.resources) == (30, 30, 30))
            #expect(report.bytes == 5_000 + 29 * 100)
            #expect((report.indexObjects, report.treeObjects) == (30, 30))
            #expect((report.indexBytes, report.treeBytes) == (report.bytes, report.bytes))
            #expect(report.isComplete && Set(report.steps.keys) == [.index, .objects, .resources])
            #expect(report.isClean && report.findings.isEmpty)
            #expect(report.temporaries == 0)
        }
    }

    @Test func progressReachesTheEnd() throws {
        try withScene { scene in
            let seen = Mutex<[VerifyProgress]>([])
            let report = try scene.cache.verify { progress in seen.withLock { $0.append(progress) }
            }
            let last = try #require(seen.withLock { $0.last })
            #expect(last.objects == 30 && last.total == 30 && last.bytes == report.bytes)
            #expect(last.findings == 0)
        }
    }

    // MARK: Corrupt

    @Test(arguments: [0, 7, 2_500, 4_999])
    func flippedBitIsCorrupt(at position: Int) throws {
        try withScene { scene in
            try scene.change { bytes in
                var bytes = bytes
                bytes[position] ^= 0x40
                return bytes
            }
            try expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test(arguments: [0, 1, 4_999]) func truncatedIsCorrupt(to count: Int) throws {
        try withScene { scene in
            try scene.change { Array($0.prefix(count)) }
            try expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test(arguments: [1, 5_000]) func extendedIsCorrupt(by count: Int) throws {
        try withScene { scene in
            try scene.change { $0 + [UInt8](repeating: 0, count: count) }
            try expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test func zeroedIsCorrupt() throws {
        try withScene { scene in
            try scene.change { $0.map { _ in 0 } }
            try expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test func exchangedObjectsAreBothCorrupt() throws {
        try withScene { scene in
            try scene.change { _ in noise(100, seed: 1) }
            try Tree.put(scene.bytes, at: scene.cache.file(of: noise(100, seed: 1)))
            let report = try scene.cache.verify()
            #expect(report.findings.map(\.kind) == [.corrupt, .corrupt])
            #expect(
                Set(report.findings.flatMap(\.urls)) == [scene.key, "http://a.example/1"])
        }
    }

    /// Even to the right bytes: a link may lead anywhere tomorrow.
    @Test func linkInAnObjectsPlaceIsALink() throws {
        try withScene { scene in
            let outside = scene.root + "/copy"
            try Tree.put(scene.bytes, at: outside)
            unlink(try scene.file)
            try FileManager.default.createSymbolicLink(
                atPath: try scene.file, withDestinationPath: outside)
            try expect(.link, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test func pipeInAnObjectsPlaceIsCorrupt() throws {
        try withScene { scene in
            unlink(try scene.file)
            #expect(mkfifo(try scene.file, 0o644) == 0)
            try expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test func everyUrlOfACorruptObjectIsNamed() throws {
        try withScene { scene in
            let store = try scene.cache.store()
            try store.put(scene.bytes, at: "another")
            store.flush()
            try scene.change { $0.reversed() }
            try expect(
                .corrupt, at: scene.subject, urls: ["another", scene.key], whole: 29, scene)
        }
    }

    // MARK: Missing and unreadable

    @Test func deletedObjectIsMissing() throws {
        try withScene { scene in
            unlink(try scene.file)
            try expect(.missing, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test func deletedTreeIsMissing() throws {
        try withScene { scene in
            try FileManager.default.removeItem(atPath: scene.root + "/objects")
            let report = try scene.cache.verify()
            #expect(report.count(.missing) == 30)
            #expect(report.findings.count == 30)
            #expect(!report.isClean)
        }
    }

    @Test func linkedFanOutIsForeignAndItsObjectsMissing() throws {
        try withScene { scene in
            let fanOut = String(try scene.file.dropLast(65))
            try FileManager.default.moveItem(atPath: fanOut, toPath: scene.root + "/elsewhere")
            try FileManager.default.createSymbolicLink(
                atPath: fanOut, withDestinationPath: scene.root + "/elsewhere")
            let report = try scene.cache.verify()
            let missing = report.findings.filter { $0.kind == .missing }
            #expect(missing.contains { $0.subject == scene.subject && $0.urls == [scene.key] })
            #expect(report.count(.obstructed) == 1)
            #expect(report.findings.count == missing.count + 1)
            #expect(report.whole == 30 - missing.count)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func unreadableIsNotCalledCorrupt() throws {
        try withScene { scene in
            chmod(try scene.file, 0)
            try expect(.unreadable, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func unreadableDirectoryIsNotCalledMissing() throws {
        try withScene { scene in
            let fanOut = String(try scene.file.dropLast(65))
            chmod(fanOut, 0)
            let report = try scene.cache.verify()
            #expect(report.findings.map(\.kind) == [.unreadable])
            #expect(report.findings.map(\.subject) == [String(scene.subject.dropLast(65))])
            #expect(!report.isClean)
        }
    }

    // MARK: Not the index's

    @Test func wholeObjectWithoutARowIsOrphaned() throws {
        try withScene { scene in
            let bytes = noise(10, seed: 99)
            try Tree.put(bytes, at: scene.cache.file(of: bytes))
            let hex = ReferenceSHA256.hex(bytes)
            try expect(
                .orphaned, at: "objects/sha256/\(hex.prefix(2))/\(hex)", urls: [], whole: 30, scene)
        }
    }

    /// What a power cut may leave of a file that was never vouched for.
    @Test func brokenFileWithoutARowIsOrphaned() throws {
        try withScene { scene in
            let bytes = noise(10, seed: 99)
            try Tree.put([], at: scene.cache.file(of: bytes))
            let hex = ReferenceSHA256.hex(bytes)
            try expect(
                .orphaned, at: "objects/sha256/\(hex.prefix(2))/\(hex)", urls: [], whole: 30, scene)
        }
    }

    @Test func objectInAnothersDirectoryIsMisplaced() throws {
        try withScene { scene in
            let hex = ReferenceSHA256.hex(scene.bytes)
            let other = hex.hasPrefix("00") ? "01" : "00"
            try Tree.put(scene.bytes, at: scene.root + "/objects/sha256/\(other)/\(hex)")
            try expect(
                .misplaced, at: "objects/sha256/\(other)/\(hex)", urls: [], whole: 30, scene)
        }
    }

    @Test(arguments: ["notes.txt", "ab.txt", "abc/file", "AB/file", ".DS_Store"])
    func foreignFileIsOnlyReported(_ name: String) throws {
        try withScene { scene in
            try Tree.put([1], at: scene.root + "/objects/sha256/\(name)")
            try expect(
                .foreign, at: "objects/sha256/\(name.split(separator: "/")[0])", urls: [],
                whole: 30, scene)
        }
    }

    @Test(arguments: ["evil", "md5"]) func foreignFileBesideTheTreeIsReported(_ name: String) throws
    {
        try withScene { scene in
            try Tree.put([1], at: scene.root + "/objects/\(name)")
            try expect(.foreign, at: "objects/\(name)", urls: [], whole: 30, scene)
        }
    }

    /// Its row and its file went after the rows were read.
    @Test func whatIsEvictedMeanwhileIsNotMissing() throws {
        try withTemporaryDirectory { directory in
            // Two of one directory, so that there is a moment between rows and end.
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
            // Asked on the thread that is about to read the rows, …
            options.selection = .named { byte in
                if byte == leading { Thread.current.threadDictionary["armed"] = true }
                return Set([victim, other].compactMap { try? Digest.reference(of: $0) })
            }
            // … and again on the same, when it has them.
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

    @Test func foreignFileAmongObjectsIsOnlyReported() throws {
        try withScene { scene in
            try Tree.put([1], at: try scene.file + ".part")
            try expect(.foreign, at: scene.subject + ".part", urls: [], whole: 30, scene)
        }
    }

    @Test func leftoversAreCounted() throws {
        try withScene { scene in
            try Tree.put([1], at: scene.root + "/tmp/run-dead/1")
            let report = try scene.cache.verify()
            try Tree.put([1], at: scene.root + "/tmp/foreign")
            let store = try scene.cache.store()
            defer { store.close() }
            #expect(report.temporaries == 1 && report.leftovers == 1)
            let later = try scene.cache.verify()
            // The store has swept the one, and has a directory of its own.
            #expect(later.temporaries == 2 && later.leftovers == 1)
            #expect(report.isClean)
            #expect(FileManager.default.fileExists(atPath: scene.root + "/tmp/foreign"))
        }
    }

    /// Deleting it costs nothing that a rebuild does not bring back: nothing is called an orphan.
    @Test func missingIndexIsAFinding() throws {
        try withTemporaryDirectory { directory in
            do { _ = try Scene(directory) }
            for name in CacheLayout.indexFiles { unlink(directory.path(name)) }
            try Tree.put([1], at: directory.path("tmp/run-dead/1"))
            let report = try Cache.openDamaged(at: directory.path).verify()
            #expect(report.findings.map(\.kind) == [.index])
            #expect(report.whole == 30)
            #expect(report.temporaries == 1)
            #expect(!report.isClean)
        }
    }

    @Test(arguments: [0o644, 0o400, 0o4444]) func wrongModeIsOnlyReported(_ mode: Int) throws {
        try withScene { scene in
            chmod(try scene.file, mode_t(mode))
            try expect(.mode, at: scene.subject, urls: [], whole: 30, scene)
        }
    }

    @Test func totalsTellTheIndexFromTheTree() throws {
        try withScene { scene in
            unlink(try scene.file)
            let bytes = noise(10, seed: 99)
            try Tree.put(bytes, at: scene.cache.file(of: bytes))
            let report = try scene.cache.verify()
            #expect((report.indexObjects, report.indexBytes) == (30, 7_900))
            #expect((report.treeObjects, report.treeBytes) == (30, 2_910))
        }
    }

    // MARK: Quick

    @Test func quickComparesSizesAndReadsNothing() throws {
        try withScene { scene in
            var options = VerifyOptions()
            options.isQuick = true
            try scene.change { $0.reversed() }
            chmod(try scene.file, 0o444)
            #expect(try scene.cache.verify(options).findings.isEmpty)
            #expect(try scene.cache.verify(options).bytes == 0)
            try scene.change { $0 + [0] }
            let report = try scene.cache.verify(options)
            #expect(report.findings.map(\.kind) == [.corrupt])
            #expect(report.whole == 29 && report.objects == 30)
        }
    }

    // MARK: The index itself

    /// What SQLite cannot open is a finding; the objects still have their names to be measured by.
    @Test func unreadableIndexLeavesTheObjectsToBeChecked() throws {
        try withScene { scene in
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

    /// A page in the middle: what is found out late is no reason to stop.
    @Test func indexThatBreaksHalfWayLeavesTheObjectsToBeChecked() throws {
        try withScene { scene in
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

    @Test func newerIndexIsNotCalledDamaged() throws {
        try withScene { scene in
            try scene.execute("INSERT INTO grdb_migrations VALUES ('99: to come')")
            scene.cache.close()
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.openDamaged(at: scene.root)
            }
            #expect(error?.message.contains("newer version") == true)
        }
    }

    @Test func rowWithAnotherSizeIsTheIndexsFault() throws {
        try withScene { scene in
            try scene.execute(
                "UPDATE objects SET size = size + 1 WHERE digest = ?",
                [Data(ReferenceSHA256.digest(scene.bytes))])
            try expect(.index, at: scene.subject, urls: [scene.key], whole: 29, scene)
        }
    }

    @Test func danglingResourceIsTheIndexsFault() throws {
        try withScene { scene in
            try scene.execute(
                "DELETE FROM objects WHERE digest = ?",
                [Data(ReferenceSHA256.digest(scene.bytes))])
            let report = try scene.cache.verify()
            #expect(report.findings.map(\.kind) == [.index, .orphaned])
            #expect(report.findings.first?.subject == "index.sqlite")
            #expect(!report.isClean)
        }
    }

    // MARK: Beside others

    @Test func changesNothing() throws {
        try withScene { scene in
            try scene.change { $0.reversed() }
            try Tree.put([1], at: scene.root + "/objects/sha256/notes.txt")
            func state() throws -> [String: [UInt8]] {
                var state: [String: [UInt8]] = [:]
                for name in Tree.files(scene.root) where !name.hasPrefix("index.sqlite") {
                    state[name] = try Tree.bytes("\(scene.root)/\(name)")
                }
                return state
            }
            let before = try state()
            #expect(try scene.cache.verify().findings.count == 2)
            #expect(try scene.cache.verify().findings.count == 2)
            #expect(try state() == before)
        }
    }

    /// Two runs store, some of it the same, while a third process verifies: no false alarm.
    @Test func raisesNoFalseAlarmWhileOthersStore() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let writing = DispatchGroup()
            let failures = Mutex<[any Error]>([])
            for number in 0..<2 {
                DispatchQueue.global().async(group: writing) {
                    do {
                        let store = try Cache.create(at: directory.path).store()
                        let batches = CommittedBatches(of: store)
                        for seed in 0..<400 {
                            try store.put(
                                noise(2_000, seed: seed),
                                at: "\(seed % 3 == 0 ? 0 : number) \(seed)")
                            if seed % 20 == 19 { store.flush() }
                        }
                        store.flush()
                        for outcome in batches.outcomes { _ = try outcome.result.get() }
                    } catch {
                        failures.withLock { $0.append(error) }
                    }
                }
            }
            var reports = 0
            var isLast = false
            repeat {
                isLast = writing.wait(timeout: .now()) == .success
                let report = try cache.verify()
                #expect(report.isClean, "\(report.findings)")
                reports += 1
            } while !isLast
            #expect(failures.withLock { $0 }.isEmpty)
            #expect(reports > 1)
            let report = try cache.verify()
            #expect(report.whole == 400)
            #expect(report.findings.isEmpty)
        }
    }
}
