import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

@Suite struct CacheDirectoryTests {
    @Test func aNewCacheHasTheDocumentedLayout() throws {
        try withTemporaryDirectory { directory in
            _ = try CacheDirectory(path: directory.path("a/b"), create: true)
            #expect(Tree.names(directory.path("a/b")) == ["CACHEDIR.TAG", "objects", "tmp"])
            #expect(Tree.names(directory.path("a/b/objects")) == ["sha256"])
            let tag = String(
                decoding: try Tree.bytes(directory.path("a/b/CACHEDIR.TAG")), as: UTF8.self)
            #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
        }
    }

    /// A process may be killed between creating the tag and writing it.
    @Test func onlyAnEmptyTagIsWrittenAgain() throws {
        try withTemporaryDirectory { directory in
            for (found, expected) in [("", CacheLayout.tagContents), ("mine\n", "mine\n")] {
                try Tree.put(Array(found.utf8), at: directory.path("CACHEDIR.TAG"))
                _ = try CacheDirectory(path: directory.path, create: true)
                #expect(try Tree.bytes(directory.path("CACHEDIR.TAG")) == Array(expected.utf8))
            }
        }
    }

    /// Otherwise, Larder would sweep the user's `tmp/` and migrate the other program's index.
    @Test(arguments: [
        ["tmp/thesis.txt"], ["index.sqlite"], ["index.sqlite", "CACHEDIR.TAG"],
        ["index.sqlite-wal"],
    ])
    func anotherProgramsDirectoryIsNotUsedAsACache(_ paths: [String]) throws {
        try withTemporaryDirectory { directory in
            for path in paths { try Tree.put([1], at: directory.path(path)) }
            let names = Tree.names(directory.path)
            for open in Cache.openings {
                let error = #expect(throws: CacheError.self) { _ = try open(directory.path) }
                #expect(error?.code == .unusable && error?.subject == directory.path)
            }
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.reindex(at: directory.path)
            }
            #expect(error?.code == .unusable)
            #expect(Tree.names(directory.path) == names)
            for path in paths { #expect(try Tree.bytes(directory.path(path)) == [1]) }
        }
    }

    /// A mistyped path must not read as an empty cache, which a snapshot would copy.
    @Test func aDirectoryOfOtherFilesIsNotACache() throws {
        try withTemporaryDirectory { directory in
            try Tree.put([1], at: directory.path("index.html"))
            let path = directory.path
            let errors = [
                #expect(throws: CacheError.self) { _ = try Cache.open(at: path) },
                #expect(throws: CacheError.self) { _ = try Cache.openDamaged(at: path) },
                #expect(throws: CacheError.self) { _ = try Cache.openMakingRoom(at: path) },
                #expect(throws: CacheError.self) { _ = try Cache.reindex(at: path) },
            ]
            #expect(errors.allSatisfy { $0?.code == .missing })
            // A cache can be created there because no file has a name that the cache uses.
            _ = try Cache.create(at: directory.path)
            _ = try Cache.open(at: directory.path)
        }
    }

    /// Reading a pipe would block until another process writes to it.
    @Test func aPipeNamedLikeTheIndexIsNotOpened() throws {
        try withTemporaryDirectory { directory in
            #expect(mkfifo(directory.path("index.sqlite"), 0o600) == 0)
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.create(at: directory.path)
            }
            #expect(error?.code == .unusable)
        }
    }

    /// Directories with unrelated files, from a killed process, or with parts deleted by the user.
    @Test(arguments: [
        ["README.md"], ["objects/"], ["objects/", "tmp/"], ["tmp/run-1/1", "CACHEDIR.TAG"],
        ["tmp/run-1/1", "objects/sha256/"], ["index.sqlite", "index.snapshot.sqlite"],
    ])
    func aPartialCacheDirectoryIsCompleted(_ paths: [String]) throws {
        try withTemporaryDirectory { directory in
            for path in paths {
                if path.hasSuffix("/") {
                    try FileManager.default.createDirectory(
                        atPath: directory.path(path), withIntermediateDirectories: true)
                } else {
                    let isTag = path == CacheLayout.tag
                    let bytes = isTag ? Array(CacheLayout.tagContents.utf8) : []
                    try Tree.put(bytes, at: directory.path(path))
                }
            }
            _ = try Cache.create(at: directory.path)
        }
    }

    @Test func aCacheReducedToItsIndexIsOpened() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path("cache")
            _ = try Cache.filled(at: path, with: ["key": noise(100, seed: 1)])
            for name in Tree.names(path) where name != CacheLayout.index {
                try FileManager.default.removeTree(atPath: "\(path)/\(name)")
            }
            let cache = try Cache.create(at: path)
            #expect(try cache.resource("key") != nil)
        }
    }

    @Test func openingACacheDirectoryCreatesNoFiles() throws {
        try withTemporaryDirectory { directory in
            _ = try CacheDirectory(path: directory.path, create: false)
            #expect(Tree.names(directory.path).isEmpty)
            let error = #expect(throws: CacheError.self) {
                _ = try CacheDirectory(path: directory.path("absent"), create: false)
            }
            #expect(error?.code == .missing)
        }
    }

    @Test(arguments: [true, false])
    func aFileIsRefusedAsRoot(create: Bool) throws {
        try withTemporaryDirectory { directory in
            try Tree.put([1], at: directory.path("file"))
            let error = #expect(throws: CacheError.self) {
                _ = try CacheDirectory(path: directory.path("file"), create: create)
            }
            #expect(error?.code == .unusable)
            #expect(error?.subject == directory.path("file"))
        }
    }

    /// SQLite opens files by path, so it would follow a link out of the root.
    @Test(arguments: ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"])
    func aLinkedIndexIsRefused(_ name: String) throws {
        try withTemporaryDirectory { directory in
            _ = try Cache.create(at: directory.path("cache"))
            try Tree.put([1], at: directory.path("outside"))
            let link = directory.path("cache/\(name)")
            unlink(link)
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: directory.path("outside"))
            for open in Cache.openings {
                let error = #expect(throws: CacheError.self) {
                    _ = try open(directory.path("cache"))
                }
                #expect(error?.code == .unusable)
                #expect(error?.subject == link)
            }
            #expect(try Tree.bytes(directory.path("outside")) == [1])
        }
    }

    @Test(arguments: ["objects", "objects/sha256", "tmp"])
    func aLinkedDirectoryIsNotFollowed(_ name: String) throws {
        try withTemporaryDirectory { directory in
            _ = try Cache.create(at: directory.path("cache"))
            try FileManager.default.createDirectory(
                atPath: directory.path("outside"), withIntermediateDirectories: true)
            try FileManager.default.removeItem(atPath: directory.path("cache/\(name)"))
            try FileManager.default.createSymbolicLink(
                atPath: directory.path("cache/\(name)"),
                withDestinationPath: directory.path("outside"))
            #expect(throws: CacheError.self) {
                _ = try Cache.create(at: directory.path("cache")).store()
            }
            #expect(Tree.names(directory.path("outside")).isEmpty)
        }
    }

    @Test func objectsOfADeletedTreeAreAbsent() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: ["key": noise(100, seed: 1)])
            let digest = try #require(try cache.resource("key")).object.digest
            let presence = cache.presence
            #expect(try presence.absent([digest]).isEmpty)
            try FileManager.default.removeItem(atPath: directory.path("objects"))
            #expect(try presence.absent([digest]) == [digest])
        }
    }

    @Test func aLinkedFanOutDirectoryIsNeitherReadNorWritten() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(100, seed: 1)
            let cache = try Cache.filled(at: directory.path("cache"), with: ["key": bytes])
            let resource = try #require(try cache.resource("key"))
            let fanOut = directory.path(
                "cache/objects/sha256/\(resource.object.digest.hex.prefix(2))")
            try FileManager.default.moveItem(atPath: fanOut, toPath: directory.path("outside"))
            try FileManager.default.createSymbolicLink(
                atPath: fanOut, withDestinationPath: directory.path("outside"))

            #expect(try !cache.isPresent(resource.object.digest, size: 100))
            let error = #expect(throws: CacheError.self) { try cache.bytes(of: resource.object) }
            #expect(error?.code == .corrupt)
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            try batches.put(bytes, at: "key")
            store.flush()
            #expect(throws: CacheError.self) { try batches.outcomes.first?.result.get() }
            #expect(Tree.names(directory.path("outside")) == [resource.object.digest.hex])
        }
    }

    @Test func anExclusiveLockAndReadersExcludeEachOther() throws {
        try withTemporaryDirectory { directory in
            let holder = open(directory.path, O_RDONLY | O_CLOEXEC)
            #expect(flock(holder, LOCK_EX | LOCK_NB) == 0)
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.open(at: directory.path)
            }
            #expect(error?.code == .locked)
            close(holder)
            let cache = try Cache.open(at: directory.path)
            // A reader blocks an exclusive lock.
            let other = open(directory.path, O_RDONLY | O_CLOEXEC)
            defer { close(other) }
            #expect(flock(other, LOCK_EX | LOCK_NB) != 0)
            withExtendedLifetime(cache) {}
        }
    }

    /// The lock is held during the opening only.
    @Test func indexOpeningsExcludeEachOther() throws {
        try withTemporaryDirectory { directory in
            let cache = try CacheDirectory(path: directory.path, create: true)
            let probe = open(directory.path("tmp"), O_RDONLY | O_CLOEXEC)
            defer { close(probe) }
            do {
                let lock = try cache.openingLock()
                #expect(flock(probe, LOCK_EX | LOCK_NB) != 0)
                withExtendedLifetime(lock) {}
            }
            let opened = try Cache.create(at: directory.path)
            #expect(flock(probe, LOCK_EX | LOCK_NB) == 0)
            withExtendedLifetime(opened) {}
        }
    }
}
