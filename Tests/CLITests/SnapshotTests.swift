import Foundation
import LarderTestSupport
import Testing

/// `snapshot`, and its copies on read-only media.
@Suite struct SnapshotTests {
    @Test func aSnapshotIsReportedAndServesIcons() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let copy = larder.directory.path("copy")
            let snapshot = try larder.run("snapshot", copy, "--json")
            #expect(snapshot.status == 0, "\(snapshot)")
            let report = try #require(try JSONValue.lines(snapshot.standardOutputBytes).first)
            #expect(report["objects"] == .integer(4))
            #expect(report["damaged"] == .array([]))
            let again = try larder.run("snapshot", copy)
            #expect(again.status == 1)
            #expect(again.standardError.contains("already exists"), "\(again)")
            let bytes = try larder.binary.run(["cat", urls[2], "--cache", copy])
            #expect(bytes.status == 0)
            #expect(bytes.standardOutputBytes == Data(Icons.icon(2)))
        }
    }

    /// Directories that a process has locked, or that only have a similar name, stay.
    @Test func aSnapshotRemovesTheRemainsOfAKilledOne() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            func make(_ name: String) throws -> String {
                let path = larder.directory.path(name)
                try FileManager.default.createDirectory(
                    atPath: path + "/objects", withIntermediateDirectories: true)
                return path
            }
            let remains = try make(".copy.1a2b3c.partial")
            let locked = try make(".copy.9z9z.partial")
            let others = try [".copy.1-2.partial", ".other.1a.partial", ".copy.1a.part"].map(make)
            let root = open(locked, O_RDONLY | O_CLOEXEC)
            #expect(flock(root, LOCK_SH) == 0)
            #expect(try larder.run("snapshot", larder.directory.path("copy")).status == 0)
            #expect(!FileManager.default.fileExists(atPath: remains))
            for path in others + [locked] { #expect(FileManager.default.fileExists(atPath: path)) }
            close(root)
        }
    }

    #if os(Linux)
        /// An object takes seconds to read, so the signal arrives before the snapshot ends.
        @Test(
            arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 143)] as [(Int32, Int32)])
        func anInterruptedSnapshotLeavesNothing(_ signal: Int32, _ status: Int32) async throws {
            try await withFixture { larder in
                let urls = larder.origin.serveIcons(4)
                #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
                let folder = larder.directory.path("copies")
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: false)
                let path = try larder.objectPath(urls[0])
                try makeSlowToRead(path)
                let access = try FileAccess(of: path)
                let process = try larder.binary.start([
                    "snapshot", folder + "/copy", "--cache", larder.cache,
                ])
                access.wait()
                let partial = try FileManager.default.contentsOfDirectory(atPath: folder)
                #expect(partial.count == 1 && partial != ["copy"], "\(partial)")
                process.kill(signal)
                let finished = try process.wait()
                #expect(finished.status == status, "\(finished)")
                #expect(
                    finished.standardError.contains("interrupted: nothing was copied"),
                    "\(finished)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            }
        }
    #endif

    @Test func aSnapshotOfADamagedCacheExitsWith2() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            try larder.overwrite(try larder.objectPath(urls[0]), with: [1, 2, 3])
            let copy = larder.directory.path("copy")
            let snapshot = try larder.run("snapshot", copy, "--quiet")
            #expect(snapshot.status == 2)
            #expect(snapshot.standardOutput.isEmpty)
            #expect(snapshot.standardError.split(separator: "\n").count == 1, "\(snapshot)")
            #expect(try larder.binary.run(["verify", "--cache", copy]).status == 0)
        }
    }

    @Test func aDirectoryThatIsNotACacheIsNotCopied() async throws {
        try await withFixture { larder in
            try FileManager.default.createDirectory(
                atPath: larder.cache, withIntermediateDirectories: false)
            _ = try larder.write([1], to: "cache/index.html")
            let copy = larder.directory.path("copy")
            let finished = try larder.run("snapshot", copy)
            #expect(finished.status == 66, "\(finished)")
            #expect(finished.standardError.contains("no cache here"), "\(finished)")
            #expect(!FileManager.default.fileExists(atPath: copy))
        }
    }

    @Test(.enabled(if: Mount.isPossible, "cannot mount here"))
    func aSnapshotServesFromAReadOnlyMedium() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let copy = larder.directory.path("copy")
            #expect(try larder.run("snapshot", copy).status == 0)
            // Owned by another user, like an image that was built elsewhere.
            #expect(chown(copy, 65534, 65534) == 0)
            let medium = try Mount.readOnly(copy, at: larder.directory.path("medium"))
            defer { medium.remove() }
            func run(_ arguments: String...) throws -> Finished {
                try larder.binary.run(arguments + ["--cache", medium.path])
            }
            for (number, url) in urls.enumerated() {
                #expect(try run("cat", url).standardOutputBytes == Data(Icons.icon(number)))
            }
            for command in ["verify", "status", "list"] {
                let finished = try run(command)
                #expect(finished.status == 0, "\(finished)")
            }
            #expect(try run("path", urls[0]).standardOutput.hasPrefix(medium.path))
            // A snapshot of the snapshot.
            let second = try run("snapshot", larder.directory.path("second"))
            #expect(second.status == 0, "\(second)")
            for arguments in [["evict", "--max-size", "0"], ["reindex"], ["pin", urls[0]]] {
                let finished = try larder.binary.run(arguments + ["--cache", medium.path])
                #expect([1, 74].contains(finished.status), "\(finished)")
                #expect(finished.standardError.split(separator: "\n").count == 1, "\(finished)")
            }
        }
    }
}
