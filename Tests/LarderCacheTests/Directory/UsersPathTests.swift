import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// Links in the paths of files that Larder writes.
@Suite struct UsersPathTests {
    private static let isRoot = Comment("only root can give files away")

    @Test func theUsersOwnLinksInAPathAreFollowed() throws {
        try withTemporaryDirectory { directory in
            #expect(mkdir(directory.path("a"), 0o755) == 0)
            #expect(mkdir(directory.path("a/b"), 0o755) == 0)
            #expect(symlink("a/./b/../b", directory.path("relative")) == 0)
            #expect(symlink(directory.path("relative"), directory.path("absolute")) == 0)
            let folder = try UsersPath(directory.path("absolute/c/d")).directory(create: true)
            _ = try folder.create("file")
            #expect(Tree.files(directory.path("a")) == ["b/c/d/file"])
        }
    }

    /// As for the system. Otherwise, a check of the path by the system could find nothing, although
    /// Larder then writes to a file.
    @Test func nothingIsFoundThroughAMissingDirectory() throws {
        try withTemporaryDirectory { directory in
            #expect(mkdir(directory.path("a"), 0o755) == 0)
            _ = try UsersPath(directory.path("a/../a")).folder()
            #expect(throws: CacheError.self) {
                try UsersPath(directory.path("missing/../a")).folder()
            }
        }
    }

    /// As for `mkdir -p`.
    @Test func aMissingDirectoryBeforeAParentIsCreated() throws {
        try withTemporaryDirectory { directory in
            let folder = try UsersPath(directory.path("missing/../a/b")).directory(create: true)
            _ = try folder.create("file")
            #expect(Tree.names(directory.path) == ["a", "missing"])
            #expect(Tree.files(directory.path) == ["a/b/file"])
        }
    }

    /// Links as the first, middle and last component, and as the target of another link.
    @Test(
        .enabled(if: geteuid() == 0, isRoot),
        arguments: ["link", "link/x", "dir/inner/x", "own", "own/x"])
    func aLinkOwnedByAnotherUserIsNotFollowed(_ path: String) throws {
        try withTemporaryDirectory { directory in
            for name in ["goal", "goal/x", "dir"] {
                #expect(mkdir(directory.path(name), 0o755) == 0)
            }
            for (name, target) in [("link", "goal"), ("dir/inner", "../goal"), ("own", "link")] {
                #expect(symlink(target, directory.path(name)) == 0)
            }
            let place = UsersPath(directory.path(path))
            _ = try place.directory()
            for name in ["link", "dir/inner"] {
                #expect(lchown(directory.path(name), 65534, 65534) == 0)
            }
            for create in [false, true] {
                let error = #expect(throws: CacheError.self) {
                    _ = try UsersPath(directory.path(path)).directory(create: create)
                }
                #expect(error?.code == .unusable)
                #expect(error?.message.contains("is a link created by the user") == true)
            }
            #expect(throws: CacheError.self) {
                _ = try UsersPath(directory.path(path + "/new")).file(flags: O_WRONLY, mode: 0o600)
            }
            #expect(Tree.names(directory.path("goal")) == ["x"])
        }
    }

    /// The owner of a parent directory can replace its entries with links at any time.
    @Test(arguments: ["top/mid/end", "top/mid", "top"])
    func aLinkThatReplacesAResolvedDirectoryIsNotFollowed(_ name: String) throws {
        try withTemporaryDirectory { directory in
            try Tree.put([1], at: directory.path("top/mid/end/file"))
            try Tree.put([1], at: directory.path("goal/mid/end/file"))
            let place = UsersPath(directory.path("top/mid/end"))
            #expect(rename(directory.path(name), directory.path("old")) == 0)
            let depth = name.split(separator: "/").count
            let target = directory.path(["goal", "goal/mid", "goal/mid/end"][depth - 1])
            #expect(symlink(target, directory.path(name)) == 0)
            #expect(throws: CacheError.self) { try place.directory() }
            #expect(throws: CacheError.self) { try place.directory(create: true) }
            #expect(throws: CacheError.self) { try place.folder() }
        }
    }

    @Test func createdDirectoriesAreWritableOnlyByTheirOwner() throws {
        try withTemporaryDirectory { directory in
            let folder = try UsersPath(directory.path("a/b")).directory(create: true)
            for name in ["a", "a/b"] {
                let mode = try #require(Tree.permissions(directory.path(name)))
                #expect(mode & 0o722 == 0o700)
            }
            #expect(try folder.makeDirectory("c") != nil)
            #expect(Tree.permissions(directory.path("a/b/c")) == 0o755)
            #expect(try folder.makeDirectory("c") == nil)
        }
    }

    @Test func theNearestExistingDirectoryIsCheckedBeforeCreation() throws {
        try withTemporaryDirectory { directory in
            var checked: ino_t?
            #expect(throws: CacheError.self) {
                _ = try UsersPath(directory.path("a/b")).directory(create: true) {
                    (nearest) throws(CacheError) in
                    checked = try nearest.status().st_ino
                    throw CacheError(.unusable, subject: "a/b", message: "is refused")
                }
            }
            let own = try UsersPath(directory.path).directory().status()
            #expect(own.st_ino == checked)
            #expect(Tree.names(directory.path).isEmpty)
        }
    }

    #if os(Linux)
        /// The path that a shell passes for `>(command)`.
        @Test func aPipeIsOpenedByItsDescriptorPath() throws {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            defer { ends.forEach { close($0) } }
            let file = try UsersPath("/dev/fd/\(ends[1])").file(flags: O_WRONLY, mode: 0o644)
            try file.write([7])
            var byte: UInt8 = 0
            #expect(read(ends[0], &byte, 1) == 1 && byte == 7)
        }
    #endif

    @Test(.enabled(if: geteuid() == 0, isRoot))
    func anotherUsersFileInASharedDirectoryIsNotWritten() throws {
        try withTemporaryDirectory { directory in
            #expect(chmod(directory.path, 0o1777) == 0)
            try Tree.put([1], at: directory.path("report"))
            func write() throws {
                let file = try UsersPath(directory.path("report")).file(
                    flags: O_WRONLY, mode: 0o644)
                try file.write([2])
            }
            try write()
            #expect(chown(directory.path("report"), 65534, 65534) == 0)
            #expect(throws: CacheError.self) { try write() }
            // In a directory of the same owner, such a file is expected.
            #expect(chown(directory.path, 65534, 65534) == 0 && chmod(directory.path, 0o755) == 0)
            try write()
        }
    }
}
