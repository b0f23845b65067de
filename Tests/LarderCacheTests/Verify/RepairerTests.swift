import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache
@testable import LarderCore

/// Repairs without the network.
@Suite struct RepairerTests {
    private func withCache(_ body: (Cache) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            var contents: [String: [UInt8]] = [:]
            for seed in 0..<20 { contents["http://a.example/\(seed)"] = noise(100, seed: seed) }
            try body(try Cache.filled(at: directory.path, with: contents))
        }
    }

    private func repair(_ cache: Cache) throws -> (VerifyReport, [DroppedResource]) {
        var report = try cache.verify()
        let dropped = try cache.repair(&report)
        return (report, dropped)
    }

    /// A dropped resource cannot be read. It is known as damaged until its key is stored again.
    @Test func resourcesOfDamagedObjectsAreKeptAsDamaged() throws {
        try withCache { cache in
            try Tree.put([1], at: cache.file(of: noise(100, seed: 3)))
            unlink(try cache.file(of: noise(100, seed: 5)))
            let (report, dropped) = try repair(cache)
            #expect(dropped.map(\.url).sorted() == ["http://a.example/3", "http://a.example/5"])
            #expect(report.findings.allSatisfy { $0.repair == .lost })
            #expect(!report.isSound)
            #expect(try cache.resource("http://a.example/3") == nil)
            #expect(Tree.names(cache.path + "/quarantine").count == 1)

            // A repair may be killed before it downloads anything.
            let (again, known) = try repair(cache)
            #expect(known.map(\.url).sorted() == dropped.map(\.url).sorted())
            #expect(known.map(\.digest) == dropped.map(\.digest))
            #expect(again.findings.map(\.kind) == [.missing, .missing])
            #expect(
                Set(again.findings.map(\.urls)) == [
                    ["http://a.example/3"], ["http://a.example/5"],
                ])
            #expect(again.findings.allSatisfy { $0.repair == .lost })

            let store = try cache.store()
            try store.put(noise(100, seed: 3), at: "http://a.example/3")
            try store.put(noise(100, seed: 70), at: "http://a.example/5")
            store.flush()
            store.close()
            #expect(try cache.verify().findings.isEmpty)
            #expect(try repair(cache).1.isEmpty)
        }
    }

    /// Another process downloads the object between the verification and the repair.
    @Test func anObjectRestoredBeforeTheRepairIsKept() throws {
        try withCache { cache in
            let file = try cache.file(of: noise(100, seed: 3))
            try Tree.put([1], at: file)
            var report = try cache.verify()
            try Tree.put(noise(100, seed: 3), at: file)
            #expect(try cache.repair(&report).isEmpty)
            #expect(report.findings.map(\.repair) == [.restored])
            #expect(try cache.verify().whole == 20)
            #expect(!Tree.names(cache.path).contains("quarantine"))
        }
    }

    /// Another process downloads the object after the repairer has read it.
    @Test func anObjectRestoredDuringTheRepairIsKept() throws {
        try withCache { cache in
            for seed in 3...4 { try Tree.put([1], at: cache.file(of: noise(100, seed: seed))) }
            var report = try cache.verify()
            let digest = try #require(report.findings.first?.digest)
            let seed = try #require(
                try (3...4).first { try Digest.reference(of: noise(100, seed: $0)) == digest })
            let path = try cache.file(of: noise(100, seed: seed))
            // The closure is called twice before each finding. At the fourth call, the first
            // finding has been checked.
            var count = 0
            let dropped = try cache.repair(&report) {
                count += 1
                if count == 4 {
                    try? Tree.put(noise(100, seed: seed), at: path + ".new")
                    rename(path + ".new", path)
                }
                return false
            }
            #expect(report.findings.map(\.repair) == [.restored, .lost])
            #expect(dropped.count == 1)
            #expect(try Tree.bytes(path) == noise(100, seed: seed))
            #expect(try cache.verify().whole == 19)
        }
    }

    @Test func aDamagedObjectWithoutAResourceIsRemoved() throws {
        try withCache { cache in
            let queue = try DatabaseQueue(path: cache.path + "/index.sqlite")
            try queue.write {
                try $0.execute(sql: "DELETE FROM resources WHERE key = 'http://a.example/3'")
            }
            try Tree.put([1], at: cache.file(of: noise(100, seed: 3)))
            let (report, dropped) = try repair(cache)
            #expect(dropped.isEmpty)
            #expect(report.findings.map(\.repair) == [.removed])
            #expect(report.isSound && report.repaired == 1)
        }
    }

    @Test func inconsistentRowsAreRepaired() throws {
        try withCache { cache in
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            let queue = try DatabaseQueue(
                path: cache.path + "/index.sqlite", configuration: configuration)
            try queue.write { db in
                try db.execute(
                    sql: "UPDATE objects SET size = 7 WHERE digest = ?",
                    arguments: [try Digest.reference(of: noise(100, seed: 3)).blob])
                try db.execute(
                    sql: "DELETE FROM objects WHERE digest = ?",
                    arguments: [try Digest.reference(of: noise(100, seed: 5)).blob])
            }
            let (report, dropped) = try repair(cache)
            #expect(dropped.map(\.key) == ["http://a.example/5"])
            let repairs = report.findings.map { "\($0.kind) \($0.repair?.rawValue ?? "-")" }
            #expect(Set(repairs) == ["index restored", "index lost", "orphaned -"])
            let after = try cache.verify()
            #expect(after.whole == 19 && after.resources == 19)
            // The resource without an object is still known.
            #expect(after.findings.map(\.kind) == [.missing, .orphaned])
            #expect(after.findings.first?.urls == ["http://a.example/5"])
            #expect(try repair(cache).1.map(\.key) == ["http://a.example/5"])
        }
    }

    @Test func misplacedObjectsThatCannotBeMovedAreQuarantined() throws {
        try withCache { cache in
            let root = cache.path + "/objects/sha256"
            let names = try (3...4).map { seed in
                String(try cache.file(of: noise(100, seed: seed)).suffix(64))
            }
            let wrongDirectories = names.map { $0.hasPrefix("00") ? "01" : "00" }
            // The first file has other bytes. The second object exists in the right directory, too.
            try Tree.put([1], at: "\(root)/\(wrongDirectories[0])/\(names[0])")
            try Tree.put(noise(100, seed: 4), at: "\(root)/\(wrongDirectories[1])/\(names[1])")
            let (report, _) = try repair(cache)
            #expect(report.findings.map(\.repair) == [.removed, .removed])
            #expect(Tree.names(cache.path + "/quarantine").count == 2)
            #expect(try cache.verify().whole == 20)
            #expect(try cache.verify().findings.isEmpty)
        }
    }

    /// With the other order, a killed repair would leave a link that no row refers to.
    @Test func aLinkIsMovedBeforeItsRowIsDeleted() throws {
        try withCache { cache in
            let paths = try [3, 4].map { try cache.file(of: noise(100, seed: $0)) }
            for path in paths {
                unlink(path)
                symlink("/etc/hostname", path)
            }
            var report = try cache.verify()
            #expect(report.findings.map(\.kind) == [.link, .link])
            var moments: [(links: Int, rows: Int)] = []
            let dropped = try cache.repair(&report) {
                var status = stat()
                let links = paths.count { lstat($0, &status) == 0 }
                let rows = (3...4).count {
                    (try? cache.resource("http://a.example/\($0)")) ?? nil != nil
                }
                moments.append((links, rows))
                return false
            }
            #expect(dropped.count == 2)
            #expect(moments.contains { $0 == (links: 1, rows: 2) })
            #expect(moments.allSatisfy { $0.rows >= $0.links })
            #expect(try cache.verify().findings.allSatisfy { $0.kind == .missing })
        }
    }

    @Test func aCacheWithADamagedIndexIsNotRepaired() throws {
        try withCache { cache in
            try Tree.put([1], at: cache.file(of: noise(100, seed: 3)))
            cache.close()
            for name in CacheLayout.indexFiles { unlink("\(cache.path)/\(name)") }
            try Tree.put(Array("no index".utf8), at: cache.path + "/index.sqlite")
            let damaged = try Cache.openDamaged(at: cache.path)
            var report = try damaged.verify()
            let error = #expect(throws: CacheError.self) { try damaged.repair(&report) }
            #expect(error?.code == .damaged)
            #expect(report.findings.allSatisfy { $0.repair == nil })
            #expect(!Tree.names(cache.path).contains("quarantine"))
        }
    }

    /// A store adds the same objects repeatedly while they are damaged and repaired.
    @Test func repairsDuringStoresLeaveNoRowWithoutItsObject() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(
                at: directory.path, with: ["0": noise(3_000, seed: 0)])
            let isOver = Atomic(false)
            let failures = Mutex<[any Error]>([])
            let storing = DispatchGroup()
            DispatchQueue.global().async(group: storing) {
                do {
                    while !isOver.load(ordering: .relaxed) {
                        let store = try Cache.create(at: directory.path).store()
                        for seed in 0..<40 {
                            try store.put(noise(3_000, seed: seed), at: "\(seed)")
                        }
                        store.flush()
                        store.close()
                    }
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
            var random = Pseudorandom(seed: 5)
            var withdrawn = 0
            for _ in 0..<200 {
                // Repaired without a verification, which takes longer than the store needs to
                // restore the objects.
                var report = VerifyReport()
                for _ in 0..<5 {
                    let bytes = noise(3_000, seed: random.next(below: 40))
                    let (path, digest) = (
                        try cache.file(of: bytes), try Digest.reference(of: bytes)
                    )
                    // The file is damaged in place, as by a failing disk.
                    chmod(path, 0o644)
                    truncate(path, random.next(below: 3_000))
                    report.findings.append(
                        .init(.corrupt, CacheLayout.path(digest), "truncated", digest: digest))
                }
                withdrawn += try cache.repair(&report).count
            }
            isOver.store(true, ordering: .relaxed)
            storing.wait()
            #expect(failures.withLock { $0 }.isEmpty)
            #expect(withdrawn > 0)
            // Resources withdrawn last and not stored again are known as damaged.
            var report = try cache.verify()
            let missing = report.findings.filter { $0.message == "the file is missing" }
            #expect(missing.isEmpty, "\(report.findings)")
            _ = try cache.repair(&report)
            let store = try cache.store()
            for seed in 0..<40 { try store.put(noise(3_000, seed: seed), at: "\(seed)") }
            store.flush()
            store.close()
            #expect(try cache.verify().isClean)
        }
    }
}
