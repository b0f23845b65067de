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
            try expectRefusal(of: root, saying: "can be written by everybody")
            // With the sticky bit nobody can remove or replace what is another's.
            #expect(chmod(root, 0o1777) == 0)
            #expect(try Cache.open(at: root).resource("http://a.example/1") != nil)
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
            try expectRefusal(of: root, saying: "can be written by the group 54321")
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
            try expectRefusal(of: link, saying: "is a link that the user")
        }
    }

    /// What the link leads to is looked at like any root.
    @Test func aLinkToARootThatEverybodyCanWriteIsRefused() throws {
        try withTemporaryDirectory { directory in
            try Cache.filled(at: directory.path("open"), with: Self.contents).close()
            #expect(chmod(directory.path("open"), 0o777) == 0)
            let link = directory.path("cache")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "open")
            try expectRefusal(of: link, saying: "can be written by everybody")
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
