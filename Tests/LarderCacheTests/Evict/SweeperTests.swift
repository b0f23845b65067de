import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// Leftover files that evictions remove.
@Suite struct SweeperTests {
    private static let old = EvictionScene.instant(0)

    @Test func leftoversAreSweptAfterTheGracePeriod() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old)])
            let orphan = try Digest.reference(of: [9]).hex
            let leftovers = [
                "objects/sha256/\(orphan.prefix(2))/\(orphan)", "tmp/partial/\(orphan)",
                "quarantine/\(orphan)-1",
            ]
            for path in leftovers { try Tree.put([9], at: scene.directory.path(path)) }
            try Tree.put([1], at: scene.directory.path("tmp/run-dead/1"))
            func existing() -> [String] {
                leftovers.filter {
                    FileManager.default.fileExists(atPath: scene.directory.path($0))
                }
            }
            let dry = try scene.evict {
                $0.grace = 0
                $0.isDryRun = true
            }.report
            #expect(existing() == leftovers)
            #expect(Tree.names(scene.directory.path("tmp")) == ["partial", "run-dead"])
            let young = try scene.evict().report
            #expect(existing() == leftovers)
            #expect(young.swept[.runs]?.count == 1)
            let report = try scene.evict { $0.grace = 0 }.report
            #expect(existing().isEmpty)
            for leftover in [EvictionReport.Leftover.orphans, .partials, .quarantined] {
                #expect(report.swept[leftover]?.count == 1)
                #expect(report.swept[leftover] == dry.swept[leftover])
            }
            #expect(Tree.names(scene.directory.path("tmp")) == ["partial"])
            #expect(try scene.keys == ["a"])
            try scene.expectAgreement()
        }
    }

    /// The directory may be given by mistake, and its `tmp/` may contain important files.
    @Test func aDirectoryThatIsNotACacheIsNotSwept() throws {
        try withTemporaryDirectory { directory in
            let userFiles = [
                "tmp/thesis.txt", "tmp/partial/photo", "tmp/run-dead/1", "quarantine/1",
            ]
            for path in userFiles { try Tree.put([1], at: directory.path(path)) }
            var policy = EvictionPolicy()
            policy.grace = 0
            for _ in 1...2 {
                let error = #expect(throws: CacheError.self) {
                    try Cache.open(at: directory.path).evict(policy)
                }
                #expect(error?.code == .unusable)
            }
            for path in userFiles {
                #expect(FileManager.default.fileExists(atPath: directory.path(path)))
            }
            #expect(Tree.names(directory.path) == ["quarantine", "tmp"])
        }
    }

    /// A move or a copy preserves an old modification time, but the file has just arrived.
    @Test func newLeftoversWithAnOldModificationTimeAreKept() throws {
        try EvictionScene.run { scene in
            let hex = try Digest.reference(of: [9]).hex
            let leftovers = [
                "objects/sha256/\(hex.prefix(2))/\(hex)", "tmp/partial/\(hex)", "tmp/other",
                "quarantine/\(hex)-1",
            ]
            for path in leftovers {
                try Tree.put([9], at: scene.directory.path(path))
                var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
                #expect(utimes(scene.directory.path(path), &times) == 0)
            }
            let report = try scene.evict().report
            #expect(report.swept.values.allSatisfy { $0.count == 0 }, "\(report.swept)")
            for path in leftovers { #expect(try Tree.bytes(scene.directory.path(path)) == [9]) }
        }
    }

    /// A repair may quarantine any kind of file, and everything in `tmp/` may be deleted.
    @Test func leftoversOfAllKindsAreSwept() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old)])
            let outside = scene.directory.path("outside")
            try Tree.put([7], at: "\(outside)/file")
            let hex = try Digest.reference(of: [9]).hex
            func path(_ name: String) -> String { scene.directory.path(name) }
            try Tree.put([1], at: path("quarantine/\(hex)-1/deep/er/file"))
            #expect(symlink(outside, path("quarantine/\(hex)-1/deep/link")) == 0)
            #expect(symlink(outside, path("quarantine/\(hex)-2")) == 0)
            #expect(mkfifo(path("quarantine/\(hex)-3"), 0o600) == 0)
            try Tree.put([1], at: path("tmp/junk"))
            try Tree.put([1], at: path("tmp/run-dead/sub/z"))
            try Tree.put([1], at: path("tmp/folder/sub/z"))
            #expect(symlink(outside, path("tmp/run-link")) == 0)
            #expect(link("\(outside)/file", path("tmp/also")) == 0)
            let dry = try scene.evict {
                $0.grace = 0
                $0.isDryRun = true
            }.report
            let report = try scene.evict { $0.grace = 0 }.report
            #expect(report.swept == dry.swept)
            #expect(report.swept[.quarantined]?.count == 3)
            #expect(report.swept[.runs]?.count == 1)
            #expect(report.swept[.temporaries]?.count == 4)
            #expect(Tree.names(path("tmp")).isEmpty && Tree.names(path("quarantine")).isEmpty)
            #expect(try Tree.bytes("\(outside)/file") == [7])
            // A second eviction finds nothing to sweep.
            let again = try scene.evict { $0.grace = 0 }.report
            #expect(again.swept.values.allSatisfy { $0 == .init() }, "\(again.swept)")
            try scene.expectAgreement()
        }
    }

    /// Only regular files with the name of an object in the right directory belong to the cache.
    @Test func foreignFilesAndLinksAreNotSwept() throws {
        try EvictionScene.run { scene in
            try scene.store([("a", [1], Self.old), ("b", [2], Self.old)])
            let outside = scene.directory.path("outside")
            let hex = "ab" + String(repeating: "0", count: 62)
            let foreign = [
                "objects/sha256/readme", "objects/sha256/cd/\(hex)",
                "objects/sha256/ab/\(hex.uppercased())", "quarantine/notes",
                "outside/\(hex)",
            ]
            for path in foreign { try Tree.put([7], at: scene.directory.path(path)) }
            let links = [
                "objects/sha256/ab/\(hex)": "\(outside)/\(hex)", "objects/sha256/zz": outside,
                "quarantine/\(hex)": "\(outside)/\(hex)",
            ]
            for (link, target) in links {
                #expect(symlink(target, scene.directory.path(link)) == 0)
            }
            // Replaces an object with a link.
            let object = try scene.cache.file(of: [1])
            #expect(unlink(object) == 0 && symlink("\(outside)/\(hex)", object) == 0)
            let before = Tree.files(scene.directory.path)
            _ = try scene.evict {
                $0.maximumObjects = 0
                $0.grace = 0
            }
            let gone = before.subtracting(Tree.files(scene.directory.path))
            let own = CacheLayout.path(try Digest.reference(of: [2]))
            #expect(gone.subtracting(["index.sqlite-wal", "index.sqlite-shm"]) == [own])
            for path in foreign { #expect(try Tree.bytes(scene.directory.path(path)) == [7]) }
            #expect(try scene.keys.isEmpty)
        }
    }
}
