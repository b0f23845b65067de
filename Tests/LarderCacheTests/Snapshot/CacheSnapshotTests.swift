import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Snapshots, which are complete caches.
@Suite struct CacheSnapshotTests {
    private static let contents = Dictionary(
        uniqueKeysWithValues: (0..<20).map { ("http://a.example/\($0)", noise(100 + $0, seed: $0)) }
    )

    @Test func aSnapshotIsACompleteCache() throws {
        try withTemporaryDirectory { directory in
            // The open cache has commits that exist in its write-ahead log only.
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            let report = try cache.snapshot(to: directory.path("copy"))
            #expect((report.objects, report.resources, report.evicted) == (20, 20, 0))
            #expect(report.bytes == Int64(Self.contents.values.map(\.count).reduce(0, +)))
            #expect(report.damaged == [])
            #expect(Tree.names(directory.path) == ["cache", "copy"])
            #expect(
                Tree.names(directory.path("copy"))
                    == ["CACHEDIR.TAG", "index.sqlite", "objects", "tmp"])
            #expect(Tree.names(directory.path("copy/tmp")).isEmpty)
            for name in Tree.files(directory.path("copy/objects")) {
                #expect(Tree.permissions(directory.path("copy/objects/\(name)")) == 0o444)
            }
            for open in Cache.openings {
                let copy = try open(directory.path("copy"))
                #expect(try copy.contents() == Self.contents)
                #expect(try copy.verify().findings.isEmpty)
                copy.close()
            }
        }
    }

    /// On a read-only medium, not even the shared memory of a log can be written.
    @Test func aSnapshotIsReadWithoutChanges() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            _ = try cache.snapshot(to: directory.path("copy"))
            let before = Tree.files(directory.path("copy"))
            let root = try CacheDirectory(path: directory.path("copy"), create: false)
            let index = try #require(try CacheIndex(readOnly: root))
            #expect(try index.totals().objects == 20)
            #expect(Tree.files(directory.path("copy")) == before)
        }
    }

    @Test func pinsAreCopiedToASnapshot() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            _ = try cache.pin { try $0("http://a.example/1") }
            _ = try cache.snapshot(to: directory.path("copy"))
            let copy = try Cache.create(at: directory.path("copy"))
            var policy = EvictionPolicy()
            policy.maximumBytes = 0
            _ = try copy.evict(policy)
            #expect(try copy.contents().keys.sorted() == ["http://a.example/1"])
        }
    }

    @Test func aSnapshotOmitsDamagedObjects() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            let keys = Self.contents.keys.sorted()
            let objects = try keys.prefix(3).map { try #require(try cache.resource($0)).object }
            let paths = objects.map { cache.absolutePath(of: $0.digest) }
            try Tree.put([1, 2, 3], at: paths[0])
            unlink(paths[1])
            unlink(paths[2])
            try FileManager.default.createSymbolicLink(
                atPath: paths[2], withDestinationPath: "/etc/passwd")
            let report = try cache.snapshot(to: directory.path("copy"))
            #expect(Set(report.damaged) == Set(objects.map(\.digest)))
            #expect((report.objects, report.resources, report.evicted) == (17, 17, 0))
            let copy = try Cache.open(at: directory.path("copy"))
            #expect(
                try copy.contents() == Self.contents.filter { !keys.prefix(3).contains($0.key) })
            #expect(try copy.verify().findings.isEmpty)
        }
    }

    @Test func objectsEvictedDuringASnapshotAreNotDamage() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            let report = try cache.snapshot(
                to: directory.path("copy"),
                onProgress: { report in
                    guard report.objects == 1 else { return }
                    var policy = EvictionPolicy()
                    policy.maximumBytes = 0
                    _ = try? cache.evict(policy)
                })
            #expect((report.objects, report.resources, report.evicted) == (1, 1, 19))
            #expect(report.damaged == [])
            #expect(try Cache.open(at: directory.path("copy")).verify().findings.isEmpty)
        }
    }

    @Test func objectsStoredDuringASnapshotAreNotCopied() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            let store = try cache.store()
            let report = try cache.snapshot(
                to: directory.path("copy"),
                onProgress: { report in
                    guard report.objects == 1 else { return }
                    try? store.put(noise(77, seed: 99), at: "late")
                    store.flush()
                })
            #expect((report.objects, report.resources) == (20, 20))
            #expect(try Cache.open(at: directory.path("copy")).contents() == Self.contents)
            #expect(try cache.resource("late") != nil)
        }
    }

    @Test func aSnapshotIsWrittenOnlyToANewOrEmptyDirectory() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            try FileManager.default.createDirectory(
                atPath: directory.path("empty"), withIntermediateDirectories: false)
            #expect(try cache.snapshot(to: directory.path("empty")).objects == 20)
            try Tree.put([1], at: directory.path("full/mine"))
            try Tree.put([1], at: directory.path("file"))
            try FileManager.default.createSymbolicLink(
                atPath: directory.path("link"), withDestinationPath: "nowhere")
            for name in ["empty", "full", "file", "link", "cache/copy", "cache/objects/sha256/zz"] {
                let error = #expect(throws: CacheError.self) {
                    try cache.snapshot(to: directory.path(name))
                }
                #expect(error?.code == .unusable, "\(name)")
            }
            let error = #expect(throws: CacheError.self) {
                try cache.snapshot(to: directory.path("absent/copy"))
            }
            #expect(error?.code == .missing)
            #expect(Tree.files(directory.path("full")) == ["mine"])
            #expect(Tree.names(directory.path) == ["cache", "empty", "file", "full", "link"])
            #expect(try cache.verify().findings.isEmpty)
        }
    }

    @Test func aCancelledSnapshotLeavesNothing() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            #expect(throws: CancellationError.self) {
                var count = 0
                _ = try cache.snapshot(
                    to: directory.path("copy"), isCancelled: { count == 5 },
                    onProgress: { count = $0.objects })
            }
            #expect(Tree.names(directory.path) == ["cache"])
        }
    }

    /// The parent directory may belong to another user, who can rename its entries.
    @Test(arguments: [false, true])
    func aSnapshotReplacedDuringTheCopyChangesNoOtherFiles(_ isLink: Bool) throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            let bob = directory.path("bob")
            let victim = directory.path("victim")
            try Tree.put([1], at: "\(victim)/objects/precious")
            #expect(mkdir(bob, 0o755) == 0)
            if isLink {
                #expect(symlink(victim, "\(bob)/decoy") == 0)
            } else {
                #expect(mkdir("\(bob)/decoy", 0o755) == 0)
                #expect(symlink("\(victim)/index", "\(bob)/decoy/index.sqlite") == 0)
                #expect(symlink("\(victim)/draft", "\(bob)/decoy/index.sqlite.draft") == 0)
            }
            var names: [String] = []
            let error = #expect(throws: CacheError.self) {
                _ = try cache.snapshot(
                    to: "\(bob)/copy",
                    onProgress: { report in
                        guard report.objects == 5 else { return }
                        names = Tree.names(bob).filter { $0.hasSuffix(".partial") }
                        guard let name = names.first else { return }
                        #expect(rename("\(bob)/\(name)", "\(bob)/stolen") == 0)
                        #expect(rename("\(bob)/decoy", "\(bob)/\(name)") == 0)
                    })
            }
            #expect(error?.code == .unusable)
            #expect(Tree.files(victim) == ["objects/precious"])
            // The replacement is kept, and the copied files are removed.
            #expect(Tree.names(bob) == (names + ["stolen"]).sorted())
            #expect(Tree.files("\(bob)/stolen").isEmpty)
            if !isLink {
                #expect(Tree.names("\(bob)/\(names[0])").count == 2)
            }
            #expect(try cache.snapshot(to: "\(bob)/copy").objects == 20)
        }
    }

    /// The owner of the parent directory may have moved it there.
    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func anUnfinishedSnapshotOfAnotherUserIsKept() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            for name in [".copy.1a.partial", ".copy.1b.partial"] {
                try Tree.put([1], at: directory.path("\(name)/file"))
            }
            #expect(chown(directory.path(".copy.1b.partial"), 65534, 65534) == 0)
            _ = try cache.snapshot(to: directory.path("copy"))
            #expect(Tree.names(directory.path) == [".copy.1b.partial", "cache", "copy"])
        }
    }
}
