import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Directories that are accepted or refused as the root of a cache.
@Suite struct CacheRootTests {
    private static let contents = ["http://a.example/1": noise(100, seed: 1)]

    /// Expects every way of opening to refuse the root and to change nothing in it.
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

    @Test func aWorldWritableRootIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(chmod(root, 0o777) == 0)
            try expectRefusal(of: root, saying: "is writable by all users")
            // Despite the sticky bit, other users can create missing files.
            #expect(chmod(root, 0o1777) == 0)
            try expectRefusal(of: root, saying: "is writable by all users")
            #expect(chmod(root, 0o775) == 0)
            _ = try Cache.create(at: root)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aRootWritableByAForeignGroupIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(chown(root, 0, 54_321) == 0 && chmod(root, 0o775) == 0)
            try expectRefusal(of: root, saying: "is writable by the group 54321")
            // A group that can only read is harmless.
            #expect(chmod(root, 0o755) == 0)
            #expect(try Cache.open(at: root).resource("http://a.example/1") != nil)
            // Users may share a cache with their own group.
            #expect(chown(root, 0, getegid()) == 0 && chmod(root, 0o775) == 0)
            _ = try Cache.create(at: root)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aRootOwnedByAnotherUserIsRefused() throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(chown(root, 65534, 65534) == 0)
            try expectRefusal(of: root, saying: "belongs to the user")
        }
    }

    private static let parts = [
        "objects", "objects/sha256", "tmp", "tmp/partial", "quarantine", "runs", "locks",
        "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.snapshot.sqlite",
    ]

    /// Creates a cache with every file and directory that a root can contain.
    private func fill(_ root: String) throws {
        try Cache.filled(at: root, with: Self.contents).close()
        for name in Self.parts where Tree.permissions("\(root)/\(name)") == nil {
            if name.contains("sqlite") {
                try Tree.put([], at: "\(root)/\(name)")
            } else {
                #expect(mkdir("\(root)/\(name)", 0o755) == 0)
            }
        }
    }

    @Test(arguments: parts) func aWorldWritablePartOfACacheIsRefused(_ name: String) throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try fill(root)
            let part = "\(root)/\(name)"
            let mode = try #require(Tree.permissions(part))
            for others: mode_t in [0o002, 0o1002] {
                #expect(chmod(part, mode | others) == 0)
                for open in Cache.openings {
                    let error = #expect(throws: CacheError.self) { _ = try open(root) }
                    #expect(error?.code == .unusable)
                    #expect(error?.subject.hasSuffix(name) == true, "\(error?.subject ?? "")")
                    #expect(error?.message.contains("is writable by all users") == true)
                }
            }
            #expect(chmod(part, mode) == 0)
            _ = try Cache.create(at: root)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"), arguments: parts)
    func aPartOfACacheOwnedByAnotherUserIsRefused(_ name: String) throws {
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

    /// Fan-out directories are opened on demand, not with the cache.
    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aFanOutDirectoryOwnedByAnotherUserIsNotRead() throws {
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

    /// Larder 0.2 created lock files with mode 0666, less the umask.
    @Test func theModeOfAWorldWritableLockFileIsCorrected() throws {
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

    /// Such a link is the usual way to keep a cache on another disk.
    @Test func theUsersOwnLinkToACacheIsFollowed() throws {
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
    func aLinkCreatedByAnotherUserIsRefused() throws {
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
    func aParentLinkCreatedByAnotherUserIsRefused() throws {
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

    /// The target may be on a disk that is not mounted.
    @Test func nothingIsCreatedThroughADanglingLink() throws {
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

    /// The target of a link is checked like any other root.
    @Test func aLinkToAWorldWritableRootIsRefused() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path("open"), with: Self.contents).close()
            #expect(chmod(directory.path("open"), 0o777) == 0)
            let link = directory.path("cache")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "open")
            try expectRefusal(of: link, saying: "is writable by all users")
        }
    }

    /// For example `--cache cache/objects` by mistake.
    @Test(arguments: ["objects", "objects/sha256/new", "new", "new/deeper"])
    func aNewCacheInsideAnotherCacheIsRefused(_ name: String) throws {
        try withTemporaryDirectory { directory in
            let root = directory.path("cache")
            try Cache.filled(at: root, with: Self.contents).close()
            #expect(symlink("cache", directory.path("link")) == 0)
            let before = Tree.files(root)
            for path in ["\(root)/\(name)", directory.path("link/\(name)")] {
                let error = #expect(throws: CacheError.self) { _ = try Cache.create(at: path) }
                #expect(error?.code == .unusable && error?.subject == path)
                #expect(error?.message.hasPrefix("is inside the cache \(root);") == true)
            }
            #expect(Tree.files(root) == before && Tree.names(root).contains("new") == false)
            // Another user could have added the tag.
            #expect(chmod(root, 0o777) == 0)
            _ = try Cache.create(at: "\(root)/new")
        }
    }

    /// `cp -al` of a cache gives its index two names. A write to one would change the other.
    @Test func anIndexWithTwoHardLinksIsRefused() throws {
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

    /// SQLite opens the index by path, some time after the root was opened.
    @Test func aRootReplacedBeforeTheIndexIsOpenedIsRefused() throws {
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
