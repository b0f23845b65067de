import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

/// Findings about objects that have rows.
@Suite struct VerifierTests {
    // MARK: Intact caches

    @Test func everythingInAnIntactCacheIsCounted() throws {
        try VerifyScene.run { scene in
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

    @Test func theProgressOfAVerificationReachesTheEnd() throws {
        try VerifyScene.run { scene in
            let seen = Mutex<[ObjectProgress]>([])
            let report = try scene.cache.verify { progress in seen.withLock { $0.append(progress) }
            }
            let last = try #require(seen.withLock { $0.last })
            #expect(last.objects == 30 && last.total == 30 && last.bytes == report.bytes)
            #expect(last.findings == 0)
        }
    }

    // MARK: Corrupt objects

    @Test(arguments: [0, 7, 2_500, 4_999])
    func anObjectWithAFlippedBitIsCorrupt(at position: Int) throws {
        try VerifyScene.run { scene in
            try scene.change { bytes in
                var bytes = bytes
                bytes[position] ^= 0x40
                return bytes
            }
            try scene.expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test(arguments: [0, 1, 4_999]) func aTruncatedObjectIsCorrupt(to count: Int) throws {
        try VerifyScene.run { scene in
            try scene.change { Array($0.prefix(count)) }
            try scene.expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test(arguments: [1, 5_000]) func anExtendedObjectIsCorrupt(by count: Int) throws {
        try VerifyScene.run { scene in
            try scene.change { $0 + [UInt8](repeating: 0, count: count) }
            try scene.expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test func aZeroedObjectIsCorrupt() throws {
        try VerifyScene.run { scene in
            try scene.change { $0.map { _ in 0 } }
            try scene.expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test func exchangedObjectsAreBothCorrupt() throws {
        try VerifyScene.run { scene in
            try scene.change { _ in noise(100, seed: 1) }
            try Tree.put(scene.bytes, at: scene.cache.file(of: noise(100, seed: 1)))
            let report = try scene.cache.verify()
            #expect(report.findings.map(\.kind) == [.corrupt, .corrupt])
            #expect(
                Set(report.findings.flatMap(\.urls)) == [scene.key, "http://a.example/1"])
        }
    }

    /// The target has the right bytes, but a link can be changed at any time.
    @Test func aLinkInPlaceOfAnObjectIsReported() throws {
        try VerifyScene.run { scene in
            let outside = scene.root + "/copy"
            try Tree.put(scene.bytes, at: outside)
            unlink(try scene.file)
            try FileManager.default.createSymbolicLink(
                atPath: try scene.file, withDestinationPath: outside)
            try scene.expect(.link, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test func aPipeInPlaceOfAnObjectIsCorrupt() throws {
        try VerifyScene.run { scene in
            unlink(try scene.file)
            #expect(mkfifo(try scene.file, 0o644) == 0)
            try scene.expect(.corrupt, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test func everyURLOfACorruptObjectIsReported() throws {
        try VerifyScene.run { scene in
            let store = try scene.cache.store()
            try store.put(scene.bytes, at: "another")
            store.flush()
            try scene.change { $0.reversed() }
            try scene.expect(
                .corrupt, at: scene.subject, urls: ["another", scene.key], whole: 29)
        }
    }

    // MARK: Missing and unreadable

    @Test func aDeletedObjectIsMissing() throws {
        try VerifyScene.run { scene in
            unlink(try scene.file)
            try scene.expect(.missing, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test func theObjectsOfADeletedTreeAreMissing() throws {
        try VerifyScene.run { scene in
            try FileManager.default.removeItem(atPath: scene.root + "/objects")
            let report = try scene.cache.verify()
            #expect(report.count(.missing) == 30)
            #expect(report.findings.count == 30)
            #expect(!report.isClean)
        }
    }

    @Test func theObjectsOfALinkedFanOutDirectoryAreMissing() throws {
        try VerifyScene.run { scene in
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
    func anUnreadableObjectIsNotReportedAsCorrupt() throws {
        try VerifyScene.run { scene in
            chmod(try scene.file, 0)
            try scene.expect(.unreadable, at: scene.subject, urls: [scene.key], whole: 29)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func anUnreadableDirectoryIsNotReportedAsMissing() throws {
        try VerifyScene.run { scene in
            let fanOut = String(try scene.file.dropLast(65))
            chmod(fanOut, 0)
            let report = try scene.cache.verify()
            #expect(report.findings.map(\.kind) == [.unreadable])
            #expect(report.findings.map(\.subject) == [String(scene.subject.dropLast(65))])
            #expect(!report.isClean)
        }
    }

    // MARK: Quick verification

    @Test func aQuickVerificationOnlyComparesSizes() throws {
        try VerifyScene.run { scene in
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

    // MARK: Other processes

    @Test func aVerificationChangesNoFiles() throws {
        try VerifyScene.run { scene in
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

    /// Two runs store objects, partly the same ones, during the verifications.
    @Test func aVerificationDuringStoresFindsNoDamage() throws {
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
                            try batches.put(
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
