import Foundation
import LarderTestSupport
import Testing

@Suite struct TemporaryDirectoryTests {
    @Test func temporaryDirectoriesAreEmptyAndRemovedAfterwards() throws {
        let files = FileManager.default
        let paths = try (0..<2).map { _ in
            try withTemporaryDirectory { directory in
                let names = try files.contentsOfDirectory(atPath: directory.path)
                #expect(names.isEmpty)
                return directory.path
            }
        }
        #expect(paths[0] != paths[1])
        #expect(!files.fileExists(atPath: paths[0]))
    }

    @Test func temporaryDirectoriesAreRemovedIfTheBodyThrows() async throws {
        var path = ""
        await #expect(throws: CancellationError.self) {
            try await withTemporaryDirectory { directory in
                path = directory.path
                await Task.yield()
                throw CancellationError()
            }
        }
        #expect(path != "" && !FileManager.default.fileExists(atPath: path))
    }

    @Test func temporaryDirectoriesRemoveReadOnlyFilesButNotLinkTargets() throws {
        try withTemporaryDirectory { outside in
            try Data("kept".utf8).write(to: outside.url.appendingPathComponent("file"))
            let path = try withTemporaryDirectory { directory in
                try FileManager.default.createDirectory(
                    atPath: directory.path("a/b"), withIntermediateDirectories: true)
                try Data().write(to: directory.url.appendingPathComponent("a/b/read-only"))
                symlink(outside.path, directory.path("a/link"))
                chmod(directory.path("a/b/read-only"), 0o400)
                chmod(directory.path("a/b"), 0)
                chmod(directory.path("a"), 0o500)
                return directory.path
            }
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(FileManager.default.fileExists(atPath: outside.path("file")))
        }
    }
}
