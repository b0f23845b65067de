import Foundation
import GRDB
import LarderTestSupport
import Testing

/// The commands `list`, `path`, `cat` and `status` with filled and empty caches.
@Suite struct LookupTests {
    @Test func anEmptyDirectoryReadsAsEmptyAndStaysEmpty() async throws {
        try await withFixture { larder in
            try FileManager.default.createDirectory(
                atPath: larder.cache, withIntermediateDirectories: false)
            try expectEmpty(larder)
            try expectClean(larder)
            #expect(try FileManager.default.contentsOfDirectory(atPath: larder.cache).isEmpty)
        }
    }

    @Test func aNewCacheReadsAsEmpty() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.write("[]".utf8, to: "apps.json"))
            try expectEmpty(larder)
            try expectClean(larder)
        }
    }

    @Test func listPrintsEveryURL() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            _ = try larder.prefetch(try larder.manifest(urls: urls))
            let finished = try larder.run("list")
            #expect(finished.status == 0)
            let expected = urls.enumerated().map { number, url in
                let icon = Icons.icon(number)
                return "sha256:\(ReferenceSHA256.hex(icon))\t\(icon.count)\timage/svg+xml\t\(url)\n"
            }
            #expect(finished.standardOutput == expected.joined())
            #expect(finished.standardError.isEmpty)
        }
    }

    @Test func pathPrintsTheFileOfTheObject() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            _ = try larder.prefetch(try larder.manifest(url))
            let hex = ReferenceSHA256.hex(Icons.icon(0))
            let path = try larder.objectPath(url)
            #expect(path == "\(larder.cache)/objects/sha256/\(hex.prefix(2))/\(hex)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(Icons.icon(0)))
        }
    }

    @Test func anySpellingOfAURLFindsItsIcon() async throws {
        try await withFixture { larder in
            larder.origin.on("/icons/a.svg", Icons.reply(1))
            _ = try larder.prefetch(try larder.manifest(larder.origin.url("/icons/a.svg")))
            for spelling in [
                larder.origin.url("/icons/./b/../a.svg#top"),
                larder.origin.url("/icons/a.svg").replacingOccurrences(of: "http", with: "HTTP"),
                " \(larder.origin.url("/icons/a.svg"))",
            ] {
                #expect(try larder.cat(spelling) == Icons.icon(1), "\(spelling)")
            }
        }
    }

    private static let paths = ["/a|b[1]", "/%7euser/caf%c3%a9", "/q?x={y}'"]

    /// Prefetches ``paths``, and changes the index to that of Larder 0.2, whose keys were URLs in
    /// the spelling of libcurl.
    private func fillLikeAnEarlierVersion(_ larder: CLIFixture) throws -> String {
        let icon = Icons.reply(1).header("Cache-Control", "max-age=3600")
        larder.origin.onAny { _ in icon }
        let urls = Self.paths.map { larder.origin.url($0) }
        let manifest = try larder.manifest(urls: urls)
        #expect(try larder.prefetch(manifest).status == 0)
        #expect(larder.origin.count() == 3)
        let index = try DatabaseQueue(path: "\(larder.cache)/index.sqlite")
        try index.write { db in
            for (row, url) in urls.enumerated() {
                try db.execute(
                    sql: "UPDATE resources SET key = ?, url = NULL WHERE id = ?",
                    arguments: [url, row + 1])
            }
            try db.execute(
                sql: """
                    DROP TABLE damaged;
                    DELETE FROM grdb_migrations WHERE identifier GLOB '[67]:*';
                    """)
        }
        try index.close()
        return manifest
    }

    @Test func iconsStoredByAnEarlierVersionAreNotFetchedAgain() async throws {
        try await withFixture { larder in
            let manifest = try fillLikeAnEarlierVersion(larder)
            let keys = try larder.run("list", "--json").standardOutput
            #expect(keys.contains("%7Cb%5B1%5D"), "\(keys)")
            #expect(try larder.prefetch(manifest).status == 0)
            #expect(larder.origin.count() == 3)
            for path in Self.paths + ["/a%7cb%5B1%5D", "/~user/café", "/q?x=%7By%7D%27"] {
                #expect(try larder.cat(larder.origin.url(path)) == Icons.icon(1), "\(path)")
            }
        }
    }

    @Test(.enabled(if: Mount.isPossible, "mounting requires root on Linux"))
    func iconsStoredByAnEarlierVersionAreFoundOnAReadOnlyMedium() async throws {
        try await withFixture { larder in
            let manifest = try fillLikeAnEarlierVersion(larder)
            let medium = try Mount.readOnly(larder.cache, at: larder.directory.path("medium"))
            defer { medium.remove() }
            func run(_ arguments: String...) throws -> Finished {
                try larder.binary.run(arguments + ["--cache", medium.path])
            }
            let plan = try run("plan", manifest).standardOutput
            #expect(plan.hasSuffix("; 3 URLs: cached 3\n"), "\(plan)")
            for path in ["a%7Cb%5B1%5D", "%7euser/caf%c3%a9", "q?x=%7By%7D%27"] {
                #expect(plan.contains(larder.origin.url("/\(path)")), "\(path) in \(plan)")
            }
            let verify = try run("verify", "--manifest", manifest)
            #expect(verify.status == 0, "\(verify)")
            let eviction = try run("evict", "--dry-run", "--only", manifest)
            #expect(eviction.standardOutput.contains("would evict 0 objects"), "\(eviction)")
        }
    }

    @Test func statusCountsObjectsAndResources() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1).header("Cache-Control", "max-age=0"))
            larder.origin.on("/b", Icons.reply(1))
            larder.origin.on("/c", Icons.reply(2))
            _ = try larder.prefetch(
                try larder.manifest(urls: ["/a", "/b", "/c"].map { larder.origin.url($0) }))
            let status = try larder.status()
            #expect(status.objects == 2)
            #expect(status.bytes == Icons.icon(1).count + Icons.icon(2).count)
            #expect(status.resources == 3 && status.fresh == 2 && status.stale == 1)
            #expect(status.temporaries == 0)
            let text = try larder.run("status").standardOutput
            #expect(text.contains("resources  3, 2 fresh, 1 stale"), "\(text)")
            #expect(text.contains(larder.cache))
        }
    }

    enum Damage: CaseIterable { case flip, truncate, extend, remove, link }

    @Test(arguments: Damage.allCases)
    func catPrintsNothingOfADamagedObject(_ damage: Damage) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.manifest(url)
            _ = try larder.prefetch(manifest)
            let path = try larder.objectPath(url)
            var bytes = Icons.icon(0)
            switch damage {
            case .flip:
                bytes[5] ^= 1
                try larder.overwrite(path, with: bytes)
            case .truncate: try larder.overwrite(path, with: bytes.dropLast())
            case .extend: try larder.overwrite(path, with: bytes + [0])
            case .remove: try FileManager.default.removeItem(atPath: path)
            case .link:
                let elsewhere = try larder.write(bytes, to: "elsewhere")
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.createSymbolicLink(
                    atPath: path, withDestinationPath: elsewhere)
            }
            let finished = try larder.run("cat", url)
            #expect(finished.status == 2, "\(finished)")
            #expect(finished.standardOutputBytes.isEmpty)
            #expect(finished.standardError.contains(ReferenceSHA256.hex(Icons.icon(0))))
        }
    }

    @Test func aClosedPipeEndsAListQuietly() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            // More than the capacity of a pipe (64 KiB).
            let tail = String(repeating: "x", count: 200)
            let urls = (0..<500).map { larder.origin.url("/\($0)/\(tail)") }
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let pipeline = #""$0" list --cache "$1" | head -n 1"#
            let finished = try RunningProcess(
                "/bin/sh", ["-c", pipeline, larder.binary.path, larder.cache]
            ).wait()
            #expect(finished.status == 0)
            #expect(finished.standardOutput.filter { $0 == "\n" }.count == 1)
            #expect(finished.standardError.isEmpty, "\(finished)")
        }
    }

    #if os(Linux)
        /// C's buffer discards output of more than 4 KB after a failed write, so the loss could go
        /// unnoticed.
        @Test(
            arguments: share(of: [
                "list", "list --json", "status", "status --json", "status --format prometheus",
                "verify", "verify --json", "plan MANIFEST", "plan --json MANIFEST", "cat URL",
                "path URL", "prefetch MANIFEST", "prefetch --json MANIFEST", "pin", "pin URL",
                "unpin URL", "evict", "evict --json", "evict --dry-run --max-count 0", "reindex",
                "reindex --json",
            ]))
        func aFailedWriteOfOutputExitsWith74(_ command: String) async throws {
            try await withFixture { larder in
                let urls = larder.origin.serveIcons(150)
                let manifest = try larder.manifest(urls: urls)
                _ = try larder.prefetch(manifest)
                _ = try larder.run("pin", urls[1])
                let words = command.split(separator: " ").map {
                    ["MANIFEST": manifest, "URL": urls[0]][$0] ?? String($0)
                }
                try expectWriteFailure(larder, words + ["--cache", larder.cache])
            }
        }

        @Test(arguments: ["verify", "verify --json", "verify --repair", "snapshot SNAPSHOT"])
        func aFailedWriteOfOutputOutranksADamagedIcon(_ command: String) async throws {
            try await withFixture { larder in
                let url = larder.origin.serveIcons(1)[0]
                _ = try larder.prefetch(try larder.manifest(url))
                try larder.overwrite(try larder.objectPath(url), with: Array("damaged".utf8))
                let words = command.split(separator: " ").map {
                    $0 == "SNAPSHOT" ? larder.directory.path("snapshot") : String($0)
                }
                try expectWriteFailure(larder, words + ["--cache", larder.cache])
            }
        }

        @Test(arguments: [
            "--version", "help", "--help", "prefetch --help-all", "evict --help",
            "--generate-completion-script bash", "--experimental-dump-help",
        ])
        func aFailedWriteOfHelpExitsWith74(_ command: String) async throws {
            try await withFixture { larder in
                try expectWriteFailure(larder, command.split(separator: " ").map(String.init))
            }
        }

        private func expectWriteFailure(_ larder: CLIFixture, _ arguments: [String]) throws {
            for (output, reason) in [
                ("/dev/full", "No space left on device"), ("&-", "Bad file descriptor"),
            ] {
                try? FileManager.default.removeItem(atPath: larder.directory.path("snapshot"))
                let finished = try RunningProcess(
                    "/bin/sh",
                    ["-c", #"exec "$0" "$@" >\#(output)"#, larder.binary.path] + arguments
                ).wait()
                #expect(finished.status == 74, "\(finished)")
                #expect(
                    finished.standardError.hasSuffix(
                        "larder: standard output: write: \(reason)\n"), "\(finished)")
            }
        }
    #endif

    private func expectClean(_ larder: CLIFixture) throws {
        let verify = try larder.run("verify")
        #expect(verify.status == 0 && verify.standardOutput.hasSuffix("\nclean\n"), "\(verify)")
    }

    private func expectEmpty(_ larder: CLIFixture) throws {
        let list = try larder.run("list")
        #expect(list.status == 0 && list.standardOutput.isEmpty, "\(list)")
        let status = try larder.status()
        #expect(status.objects == 0 && status.resources == 0 && status.bytes == 0)
        for command in ["cat", "path"] {
            let finished = try larder.run(command, "http://127.0.0.1/a")
            #expect(finished.status == 2)
            #expect(finished.standardOutput.isEmpty)
            #expect(
                finished.standardError.hasSuffix("larder: http://127.0.0.1/a: not cached\n"),
                "\(finished)")
        }
    }
}
