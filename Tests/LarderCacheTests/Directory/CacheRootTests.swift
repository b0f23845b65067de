import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Which directories are taken as a cache's root, and which are refused.
@Suite struct CacheRootTests {
    private static let contents = ["http://a.example/1": noise(100, seed: 1)]

    /// Both ways of opening refuse the root, before anything beneath it was touched.
    private func expectRefusal(of path: String, saying words: String) throws {
        let before = Tree.files(path)
        for open in Cache.openings {
            let error = #expect(throws: CacheError.self) { _ = try open(path) }
            #expect(error?.code == .unusable)
            #expect(error?.subject == path)
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
        #expect(throws: CacheError.self) { _ = try Cache.reindex(at: path) }
        #expect(Tree.files(path) == before)
    }

    @Test func aRootThatEverybodyCanWriteIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(chmod(root, 0o777) == 0)
            try expectRefusal(of: root, saying: "is writable by all users")
            // With the sticky bit others can still make what is not there yet.
            #expect(chmod(root, 0o1777) == 0)
            try expectRefusal(of: root, saying: "is writable by all users")
            #expect(chmod(root, 0o775) == 0)
            _ = try Cache.create(at: root)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aRootThatAGroupOfOthersCanWriteIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(chown(root, 0, 54_321) == 0 && chmod(root, 0o775) == 0)
            try expectRefusal(of: root, saying: "is writable by the group 54321")
            // Who can only read changes nothing.
            #expect(chmod(root, 0o755) == 0)
            #expect(try Cache.open(at: root).resource("http://a.example/1") != nil)
            // A group that the user is in is the user's own choice.
            #expect(chown(root, 0, getegid()) == 0 && chmod(root, 0o775) == 0)
            _ = try Cache.create(at: root)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aRootOfAnotherUserIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(chown(root, 65534, 65534) == 0)
            try expectRefusal(of: root, saying: "belongs to the user")
        }
    }

    private static let levels = [
        "objects", "objects/sha256", "tmp", "tmp/partial", "quarantine", "runs", "locks",
        "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.snapshot.sqlite",
    ]

    /// A cache with everything that can be beneath a root.
    private func fill(_ root: String) throws {
        try Cache.filled(at: root, with: Self.contents).close()
        for name in Self.levels where Tree.permissions("\(root)/\(name)") == nil {
            if name.contains("sqlite") {
                try Tree.put([], at: "\(root)/\(name)")
            } else {
                #expect(mkdir("\(root)/\(name)", 0o755) == 0)
            }
        }
    }

    @Test(arguments: levels) func aLevelThatEverybodyCanWriteIsRefused(_ name: String) throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try fill(root)
            let level = "\(root)/\(name)"
            let mode = try #require(Tree.permissions(level))
            for others: mode_t in [0o002, 0o1002] {
                #expect(chmod(level, mode | others) == 0)
                for open in Cache.openings {
                    let error = #expect(throws: CacheError.self) { _ = try open(root) }
                    #expect(error?.code == .unusable)
                    #expect(error?.subject.hasSuffix(name) == true, "\(error?.subject ?? "")")
                    #expect(error?.message.contains("is writable by all users") == true)
                }
            }
            #expect(chmod(level, mode) == 0)
            _ = try Cache.create(at: root)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"), arguments: levels)
    func aLevelOfAnotherUserIsRefused(_ name: String) throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try fill(root)
            #expect(chown("\(root)/\(name)", 65534, 65534) == 0)
            for open in Cache.openings {
                let error = #expect(throws: CacheError.self) { _ = try open(root) }
                #expect(error?.code == .unusable)
                #expect(error?.subject.hasSuffix(name) == true, "\(error?.subject ?? "")")
                #expect(error?.message.contains("belongs to the user") == true)
            }
            #expect(throws: CacheError.self) { _ = try Cache.reindex(at: root) }
        }
    }

    /// Those are opened one by one, when they are needed.
    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func nothingIsReadOrStoredInAFanOutDirectoryOfAnotherUser() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            let object = try #require(try cache.resource("http://a.example/1")).object
            let fanOut = cache.absolutePath(of: object.digest).parentDirectory
            #expect(chown(fanOut, 65534, 65534) == 0)
            let error = #expect(throws: CacheError.self) { try cache.bytes(of: object) }
            #expect(error?.code == .unusable)
            #expect(error?.message.contains("belongs to the user") == true)
            #expect(throws: CacheError.self) { try cache.verify() }
            #expect(chown(fanOut, 0, 0) == 0)
            #expect(try cache.bytes(of: object) == Self.contents["http://a.example/1"])
        }
    }

    /// Larder 0.2 made them with the mode 0666, less the umask.
    @Test func aLockFileThatEverybodyCanWriteIsMended() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            func take() throws {
                _ = try NamedLock("night", ofCacheAt: root, create: true, for: "a test")
            }
            try take()
            #expect(Tree.permissions("\(root)/locks/night") == 0o644)
            #expect(chmod("\(root)/locks/night", 0o666) == 0)
            try take()
            #expect(Tree.permissions("\(root)/locks/night") == 0o644)
            guard geteuid() == 0 else { return }
            #expect(chown("\(root)/locks/night", 65534, 65534) == 0)
            #expect(throws: CacheError.self) { try take() }
        }
    }

    /// The user's own link is a way to put the cache on another disk.
    @Test func aLinkOfTheUsersOwnIsFollowed() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path("disk/cache"), with: Self.contents).close()
            let link = directory.path("cache")
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: "disk/cache")
            for open in Cache.openings {
                #expect(try open(link).resource("http://a.example/1") != nil)
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aLinkThatAnotherUserHasMadeIsRefused() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path("elsewhere"), with: Self.contents).close()
            let link = directory.path("cache")
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: directory.path("elsewhere"))
            #expect(lchown(link, 65534, 65534) == 0)
            try expectRefusal(of: link, saying: "is a link created by the user")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aLinkOnTheWayThatAnotherUserHasMadeIsRefused() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path("elsewhere/cache"), with: Self.contents).close()
            #expect(symlink("elsewhere", directory.path("way")) == 0)
            let root = directory.path("way/cache")
            for open in Cache.openings { _ = try open(root) }
            #expect(lchown(directory.path("way"), 65534, 65534) == 0)
            let before = Tree.files(directory.path("elsewhere"))
            for open in Cache.openings {
                let error = #expect(throws: CacheError.self) { _ = try open(root) }
                #expect(error?.code == .unusable)
                #expect(error?.subject.hasSuffix("/way") == true)
                #expect(error?.message.contains("is a link created by the user") == true)
            }
            #expect(throws: CacheError.self) {
                _ = try Cache.create(at: directory.path("way/new"))
            }
            #expect(Tree.files(directory.path("elsewhere")) == before)
            #expect(Tree.names(directory.path("elsewhere")) == ["cache"])
        }
    }

    /// The disk that it leads to may not be mounted.
    @Test func nothingIsMadeAtTheEndOfALinkThatLeadsNowhere() throws {
        try withTemporaryDirectory { directory in
            #expect(symlink("disk/cache", directory.path("cache")) == 0)
            for name in ["cache", "cache/deeper"] {
                let error = #expect(throws: CacheError.self) {
                    _ = try Cache.create(at: directory.path(name))
                }
                #expect(error?.code == .missing)
            }
            #expect(Tree.names(directory.path) == ["cache"])
        }
    }

    /// What the link leads to is looked at like any root.
    @Test func aLinkToARootThatEverybodyCanWriteIsRefused() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path("open"), with: Self.contents).close()
            #expect(chmod(directory.path("open"), 0o777) == 0)
            let link = directory.path("cache")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "open")
            try expectRefusal(of: link, saying: "is writable by all users")
        }
    }

    /// `cp -al` of a cache gives its index two names: writing to one would change the other's.
    @Test func anIndexOfTwoNamesIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(link("\(root)/index.sqlite", directory.path("backup.sqlite")) == 0)
            let before = try Tree.bytes(directory.path("backup.sqlite"))
            for open in Cache.openings {
                let error = #expect(throws: CacheError.self) { _ = try open(root) }
                #expect(error?.code == .unusable)
                #expect(error?.message.contains("hard links") == true)
            }
            #expect(try Tree.bytes(directory.path("backup.sqlite")) == before)
        }
    }

    /// Between the opening of the root and that of the index, which SQLite opens by its path.
    @Test func aRootThatWasReplacedMeanwhileIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            let opened = try CacheDirectory(path: root, create: false)
            try FileManager.default.moveItem(atPath: root, toPath: directory.path("old"))
            try Cache.filled(at: root, with: [:]).close()
            let error = #expect(throws: CacheError.self) { _ = try CacheIndex(of: opened) }
            #expect(error?.code == .unusable)
            #expect(throws: CacheError.self) { _ = try CacheIndex(readOnly: opened) }
        }
    }
}
