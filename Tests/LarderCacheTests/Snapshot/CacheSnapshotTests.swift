import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Copies that are whole by themselves.
@Suite struct CacheSnapshotTests {
    private static let contents = Dictionary(
        uniqueKeysWithValues: (0..<20).map { ("http://a.example/\($0)", noise(100 + $0, seed: $0)) }
    )

    private func read(_ cache: Cache) throws -> [String: [UInt8]] {
        var seen: [String: [UInt8]] = [:]
        try cache.forEachResource { seen[$0.key] = try cache.bytes(of: $0.object) }
        return seen
    }

    @Test func theCopyIsAWholeCache() throws {
        try withTemporaryDirectory { directory in
            // Open, with a log that is not folded in.
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
                #expect(try read(copy) == Self.contents)
                #expect(try copy.verify().findings.isEmpty)
                copy.close()
            }
        }
    }

    /// As a medium would have it: nothing can be written, not even a log's shared memory.
    @Test func theCopyIsReadWithoutATrace() throws {
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

    @Test func pinsAndFailuresAreCopied() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            _ = try cache.pin { try $0("http://a.example/1") }
            _ = try cache.snapshot(to: directory.path("copy"))
            let copy = try Cache.create(at: directory.path("copy"))
            var policy = EvictionPolicy()
            policy.maximumBytes = 0
            _ = try copy.evict(policy)
            #expect(try read(copy).keys.sorted() == ["http://a.example/1"])
        }
    }

    @Test func whatIsNotWholeIsLeftOut() throws {
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
            #expect(try read(copy) == Self.contents.filter { !keys.prefix(3).contains($0.key) })
            #expect(try copy.verify().findings.isEmpty)
        }
    }

    /// An eviction goes on beside the copying: what it takes is no damage.
    @Test func whatIsEvictedMeanwhileIsNotMissed() throws {
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

    @Test func whatIsStoredMeanwhileIsInNoOnesWay() throws {
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
            #expect(try read(Cache.open(at: directory.path("copy"))) == Self.contents)
            #expect(try cache.resource("late") != nil)
        }
    }

    @Test func anEmptyDirectoryIsTakenAndAFullOneIsNot() throws {
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

    @Test func anEndedCopyingLeavesNothing() throws {
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

    /// The directory around it may be another user's, who may rename what is in it.
    @Test(arguments: [false, true])
    func aCopyThatIsReplacedMeanwhileTouchesNothingElse(_ isLink: Bool) throws {
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
            // What is in its place stays, and nothing is left of the copy.
            #expect(Tree.names(bob) == (names + ["stolen"]).sorted())
            #expect(Tree.files("\(bob)/stolen").isEmpty)
            if !isLink {
                #expect(Tree.names("\(bob)/\(names[0])").count == 2)
            }
            #expect(try cache.snapshot(to: "\(bob)/copy").objects == 20)
        }
    }

    /// They can be moved there by whoever owns the directory around them.
    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func anUnfinishedCopyOfAnotherUserStays() throws {
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
