import Foundation
import LarderTestSupport
import Testing

/// The location of the cache directory, and unusual paths in options and variables.
@Suite struct CacheLocationTests {
    @Test func theEnvironmentNamesTheCacheIfNoOptionDoes() async throws {
        try await withFixture { larder in
            let named = larder.directory.path("named")
            #expect(
                try path(larder, ["LARDER_CACHE": named, "XDG_CACHE_HOME": "/elsewhere"]) == named)
            let both = try path(larder, ["LARDER_CACHE": named], "--cache", larder.cache)
            #expect(both == larder.cache)
            #if !canImport(Darwin)
                let home = ["HOME": larder.directory.path]
                #expect(
                    try path(larder, ["XDG_CACHE_HOME": named, "LARDER_CACHE": ""])
                        == named + "/larder")
                let standard = larder.directory.path(".cache/larder")
                #expect(try path(larder, home) == standard)
                // XDG Base Directory Specification: relative paths are invalid.
                #expect(try path(larder, home.merging(["XDG_CACHE_HOME": "x"]) { $1 }) == standard)
            #endif
        }
    }

    /// Shells do not expand quoted text, and systemd expands nothing.
    @Test func aTildeIsTheHomeDirectoryInEveryPath() async throws {
        try await withFixture { larder in
            let home = ["HOME": larder.directory.path]
            _ = try larder.manifest(urls: larder.origin.serveIcons(1), name: "m.json")
            let commands = [
                [
                    "prefetch", "~/m.json", "--cache=~/c", "--report", "~/report", "--write-lock",
                    "~/lock.json", "--allow-private-network",
                ],
                ["verify", "--manifest", "~/lock.json", "--cache", "~/c"],
                ["status", "--output=~/status", "--cache", "~/c"],
                ["snapshot", "~/copy", "--cache", "~/c"],
            ]
            for command in commands {
                let finished = try larder.binary.run(command, environment: home)
                #expect(finished.status == 0, "\(finished)")
            }
            let status = try larder.binary.run(
                ["status", "--json"], environment: home.merging(["LARDER_CACHE": "~/copy"]) { $1 })
            #expect(try CacheCounts(status).objects == 1)
            for name in ["c", "report", "lock.json", "status", "copy"] {
                let path = larder.directory.path(name)
                #expect(FileManager.default.fileExists(atPath: path), "\(name)")
            }
        }
    }

    #if os(Linux)
        /// Some schedulers set variables to an empty value.
        @Test func emptyVariablesCountAsUnset() async throws {
            try await withFixture { larder in
                let standard = larder.directory.path(".cache/larder")
                let empty = ["LARDER_CACHE": "", "XDG_CACHE_HOME": "", "TMPDIR": ""]
                #expect(
                    try path(larder, empty.merging(["HOME": larder.directory.path]) { $1 })
                        == standard)
                let homeless = try path(larder, empty.merging(["HOME": ""]) { $1 })
                #expect(homeless != "/.cache/larder" && homeless.hasSuffix("/.cache/larder"))
            }
        }

        /// Swift would decode both invalid bytes as U+FFFD. The third name is U+10FFE9, with which
        /// Larder represents the byte 0xE9 (octal 351) in strings.
        @Test(arguments: [#"--cache "$C""#, #"--cache="$C""#, ""])
        func cachesWithDifferentInvalidUTF8InTheirNamesAreDistinct(_ option: String) async throws {
            try await withFixture { larder in
                let url = larder.origin.serveIcons(1)[0]
                let manifest = try larder.manifest(url)
                func run(_ name: String, _ command: String, _ rest: String) throws -> Finished {
                    try self.run(
                        larder,
                        #"C="$(printf '\#(name)')"; [ -n '\#(option)' ] || export LARDER_CACHE="$C"; "#
                            + #"exec "$0" \#(command) \#(option) \#(rest)"#)
                }
                let network = "--allow-private-network '\(manifest)'"
                #expect(try run(#"caf\351"#, "prefetch", network).status == 0)
                #expect(try run(#"caf\350"#, "evict", "--max-size 0").status == 66)
                #expect(try run(#"\364\217\277\251"#, "list", "").standardOutput.isEmpty)
                let listed = try run(#"caf\351"#, "list", "").standardOutput
                #expect(listed.split(separator: "\n").count == 1, "\(listed)")
                let printed = try self.run(
                    larder,
                    #"C="$(printf 'caf\351')"; cmp "$("$0" path --cache "$C" '\#(url)')" "#
                        + #""$C"/objects/sha256/*/*"#)
                #expect(printed.status == 0, "\(printed)")
                let names = try self.run(larder, #"ls | od -c | grep -c '351'"#).standardOutput
                #expect(names == "1\n")
            }
        }

        /// Swift would replace the invalid bytes, so the argument would name another file.
        @Test(arguments: [
            #"export "$(printf 'caf\351')" --layout files --cache cache"#,
            #"prefetch "$(printf 'apps\377.json')" --cache cache"#,
            #"cat "$(printf 'http://a.example/\300\257')" --cache cache"#,
        ])
        func argumentsThatAreNotUTF8AreRefused(_ command: String) async throws {
            try await withFixture { larder in
                let finished = try run(larder, #"exec "$0" \#(command)"#)
                #expect(finished.status == 64, "\(finished)")
                #expect(finished.standardError.hasPrefix("larder: argument "), "\(finished)")
                #expect(finished.standardError.contains("is not UTF-8"), "\(finished)")
                #expect(!larder.hasCache)
            }
        }

        @Test(arguments: ["HOME", "XDG_CACHE_HOME", "NETRC", "TMPDIR"])
        func variablesThatAreNotUTF8AreRefused(_ name: String) async throws {
            try await withFixture { larder in
                let finished = try run(
                    larder, #"export \#(name)="$(printf '/caf\351')"; exec "$0" status"#)
                #expect(finished.status == 64, "\(finished)")
                #expect(
                    finished.standardError.hasPrefix("larder: $\(name) is not UTF-8"),
                    "\(finished)")
            }
        }

        private func run(_ larder: CLIFixture, _ script: String) throws -> Finished {
            try RunningProcess(
                "/bin/sh", ["-c", "cd '\(larder.directory.path)'; \(script)", larder.binary.path]
            ).wait()
        }
    #endif

    /// SQLite accepts paths of at most 512 bytes. For a longer path it only reports that it cannot
    /// open the file, as it does for a failing disk. On Linux, a descriptor replaces the path.
    @Test func aLongCachePathIsNotReportedAsAFailingDisk() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let long = larder.directory.path(
                Array(repeating: String(repeating: "x", count: 100), count: 6)
                    .joined(separator: "/"))
            let prefetch = try larder.binary.run(
                ["prefetch", manifest, "--cache", long, "--allow-private-network"])
            #if os(Linux)
                #expect(prefetch.status == 0, "\(prefetch)")
                #expect(try larder.binary.run(["verify", "--cache", long]).status == 0)
            #else
                #expect(prefetch.status == 1, "\(prefetch)")
                #expect(prefetch.standardError.contains("too long for SQLite"), "\(prefetch)")
            #endif
        }
    }

    @Test func aMovedCacheIsComplete() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls)
            _ = try larder.prefetch(manifest)
            larder.origin.resetLog()
            let moved = larder.directory.path("a place/with ümläuts & 100%")
            try FileManager.default.createDirectory(
                atPath: larder.directory.path("a place"), withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: larder.cache, toPath: moved)
            #expect(try larder.binary.run(["verify", "--cache", moved]).status == 0)
            let cat = try larder.binary.run(["cat", urls[2], "--cache", moved])
            #expect(Array(cat.standardOutputBytes) == Icons.icon(2))
            let prefetch = try larder.binary.run(
                ["prefetch", manifest, "--cache", moved, "--allow-private-network"])
            #expect(prefetch.status == 0)
            #expect(prefetch.standardOutput.contains("already cached 3"), "\(prefetch)")
            #expect(larder.origin.count() == 0)
            #expect(!larder.hasCache)
        }
    }

    @Test func aRelativeCachePathStartsAtTheWorkingDirectory() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let finished = try larder.binary.run(
                ["prefetch", manifest, "--cache", "./x/../cache", "--allow-private-network"],
                directory: larder.directory.path)
            #expect(finished.status == 0, "\(finished)")
            #expect(try larder.status().objects == 1)
        }
    }

    /// Returns the path of the cache in the output or, if it is missing, in the message.
    private func path(
        _ larder: CLIFixture, _ environment: [String: String], _ arguments: String...
    ) throws -> String {
        struct Status: Decodable { let path: String }
        let finished = try larder.binary.run(
            ["status", "--json"] + arguments, environment: environment)
        guard finished.status == 66 else {
            return try JSONDecoder().decode(Status.self, from: finished.standardOutputBytes).path
        }
        let message = finished.standardError.firstMatch(of: /^larder: (.+): no cache here/)
        return String(try #require(message, "\(finished)").output.1)
    }
}
