import Foundation
import LarderTestSupport
import Testing

/// `prefetch --write-lock`, which writes a manifest that gives the same bytes or an error.
@Suite(.timeLimit(.minutes(30))) struct WriteLockTests {
    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func entries(_ path: String) throws -> [[String: JSONValue]] {
        let lock = try #require(FileManager.default.contents(atPath: path))
        return try JSONDecoder().decode([[String: JSONValue]].self, from: lock)
    }

    @Test func aLockFileGivesTheSameBytesOrAnError() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let lock = larder.directory.path("lock.json")
            let run = try larder.prefetch(
                try larder.manifest(urls: urls), options: ["--write-lock", lock])
            #expect(run.status == 0, "\(run.finished)")
            let locked = try entries(lock)
            #expect(locked.map { $0["icon"] } == urls.map { .string($0) })
            #expect(locked.map { $0["name"] } == [.string("App 1"), .string("App 2")])
            for (number, entry) in locked.enumerated() {
                let icon = Icons.icon(number)
                let digest = Data(ReferenceSHA256.digest(icon)).base64EncodedString()
                #expect(entry["integrity"] == .string("sha256-" + digest))
                #expect(entry["size"] == .integer(icon.count))
                #expect(try larder.cat(urls[number]) == icon)
            }

            larder.origin.on("/1", Icons.reply(7))
            let again = try larder.binary.run([
                "prefetch", lock, "--allow-private-network", "--json",
                "--report", larder.directory.path("report.jsonl"),
                "--cache", larder.directory.path("other"),
            ])
            let second = try PrefetchRun(again, report: larder.directory.path("report.jsonl"))
            #expect(second.status == 2)
            #expect(second.outcomes == ["fetched", "failed"])
            #expect(try second.line(1).digest == run.line(1).digest)
            #expect(second.summary.failures == ["integrity-mismatch": 1])
        }
    }

    /// Each URL has bytes that the lock has for another URL.
    @Test func aPrefetchOfTheLockFileRefusesTheBytesOfAnotherIcon() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let lock = larder.directory.path("lock.json")
            _ = try larder.prefetch(
                try larder.manifest(urls: urls), options: ["--write-lock", lock])
            for number in 0...1 { larder.origin.on("/\(number)", Icons.reply(1 - number)) }
            let other = ["--cache", larder.directory.path("other")]
            let run = try larder.binary.run(
                ["prefetch", lock, "--allow-private-network", "--quiet"] + other)
            #expect(run.status == 2, "\(run)")
            let list = try larder.binary.run(["list"] + other)
            #expect(list.status == 0 && list.standardOutput.isEmpty, "\(list)")
        }
    }

    /// An app can use the lock file as its list, so names and spellings of URLs remain.
    @Test func equalEntriesAreWrittenOnce() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let spelled = urls[0].replacing("http:", with: "HTTP:")
            let data = "data:image/svg+xml;base64,\(Data(Icons.icon(1)).base64EncodedString())"
            let entries: [ManifestEntry] = [
                ["name": "a", "icon": urls[0]], ["name": "b", "icon": urls[0]],
                ["name": "a", "icon": urls[1]], ["name": "a", "icon": spelled], ["icon": urls[0]],
                ["name": "a", "icon": data], ["name": "k", "icon": urls[1], "key": "k"],
            ]
            let (once, twice) = (larder.directory.path("once"), larder.directory.path("twice"))
            _ = try larder.prefetch(try larder.manifest(entries), options: ["--write-lock", once])
            let repeated = try larder.manifest(
                entries + entries.reversed() + [["name": "b", "icon": urls[0], "priority": "high"]])
            _ = try larder.prefetch(repeated, options: ["--write-lock", twice])
            let (first, second) = (try self.entries(once), try self.entries(twice))
            #expect(first.count == entries.count)
            #expect(second.map { $0["icon"] } == first.map { $0["icon"] })
            #expect(second.map { $0["name"] } == first.map { $0["name"] })
            // The priority of an icon is its highest one.
            #expect(second[0]["priority"] == .string("high"))
        }
    }

    /// Entries have the order of the manifest, not that of the downloads.
    @Test func fetchedAndCachedIconsGiveTheSameLockFile() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let urls = origin.serveIcons(3)
            origin.on("/stale") { request in
                request.header("If-None-Match") == nil
                    ? Icons.reply(8).header("ETag", "\"1\"").header("Cache-Control", "no-cache")
                    : .notModified
            }
            let manifest = try larder.manifest([
                ["name": "low", "icon": urls[0], "priority": "low"],
                ["name": "none"], ["name": "high", "icon": urls[1], "priority": 7],
                ["name": "twice", "icon": urls[0]], ["icon": origin.url("/stale")],
                ["icon": urls[2], "key": "third"],
            ])
            var locks: [String?] = []
            for (number, options) in [[], [], ["--offline"]].enumerated() {
                let lock = larder.directory.path("\(number).json")
                let run = try larder.prefetch(manifest, options: options + ["--write-lock", lock])
                #expect(run.status == 0, "\(run.finished)")
                locks.append(text(lock))
            }
            #expect(Set(locks).count == 1, "\(locks)")
            // The lock file of a lock file is the same, too.
            let copy = larder.directory.path("copy.json")
            _ = try larder.prefetch(
                larder.directory.path("0.json"), options: ["--write-lock", copy])
            #expect(text(copy) == locks[0])
            let lock = try entries(copy)
            #expect(
                lock.map { $0["icon"] }
                    == [urls[0], urls[1], urls[0], origin.url("/stale"), urls[2]].map {
                        .string($0)
                    })
            #expect(lock[1]["priority"] == .integer(7))
            #expect(lock[4]["key"] == .string("third"))
            #expect(locks[0]?.split(separator: "\n").count == 7, "one line for each icon")
        }
    }

    @Test(arguments: [[], ["--max-failures", "1"], ["--max-failures", "1", "--quiet"]])
    func aFailedIconKeepsTheOldLockFile(_ options: [String]) async throws {
        try await withFixture { larder in
            let lock = try larder.write("old".utf8, to: "lock.json")
            let manifest = try larder.manifest(
                larder.origin.serveIcons(1)[0], larder.origin.url("/gone"))
            let run = try larder.binary.run(
                [
                    "prefetch", manifest, "--allow-private-network", "--cache", larder.cache,
                    "--write-lock", lock,
                ] + options)
            #expect(run.status == 2, "\(run)")
            #expect(run.standardError.contains("not written, because 1 of 2 icons is missing"))
            #expect(text(lock) == "old")
            let files = try FileManager.default.contentsOfDirectory(atPath: larder.directory.path)
            #expect(!files.contains { $0.hasSuffix(".tmp") })
        }
    }

    @Test func theLockFileKeepsNamesKeysAndDataURLs() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let name = "a\u{1B}[2J\"\\\u{202E}é\u{E0041}\n"
            let data = "data:image/svg+xml;base64,\(Data(Icons.icon(1)).base64EncodedString())"
            origin.on("/secret?sig=a%2Bb", Icons.reply(2))
            let address = "127.0.0.1:\(origin.port)/secret?sig=a%2Bb"
            let manifest = try larder.manifest([
                ["name": name, "icon": data], ["icon": data, "key": "own"],
                ["icon": "http://user:s3cret@\(address)"],
            ])
            let lock = larder.directory.path("lock.json")
            let run = try larder.prefetch(manifest, options: ["--write-lock", lock])
            #expect(run.status == 0, "\(run.finished)")
            let written = try #require(text(lock))
            #expect(!written.contains("s3cret") && !written.contains("\u{1B}"))
            #expect(!written.contains("\u{202E}") && !written.contains("\u{E0041}"))
            let locked = try entries(lock)
            #expect(locked[0]["name"] == .string(name))
            #expect(locked.map { $0["key"] } == [nil, .string("own"), nil])
            #expect(locked[2]["icon"] == .string("http://\(address)"))
            let again = try larder.prefetch(lock, options: ["--offline"])
            #expect(again.outcomes == ["cached", "cached", "cached"], "\(again.finished)")
        }
    }

    /// Apps request a URL as their manifest spells it. An export with the lock file must therefore
    /// have the same file names.
    @Test func theLockFileKeepsTheSpellingOfURLs() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.onAny { _ in Icons.reply(1) }
            let port = "127.0.0.1:\(origin.port)"
            let urls = [
                "http://\(port)/a b.png", "HTTP://\(port)/c/../d.png", "http://\(port)",
                "http://\(port)/é.png", "http://\(port)/{w}/x.png", "http://\(port)/y.png#z",
                // Equivalent URLs with different names in an export.
                "http://\(port)/%7eq.png", "http://\(port)/~q.png", "http://\(port)/%7Eq.png",
            ]
            let manifest = try larder.manifest(
                urls.map { ["icon": $0] } + [["icon": "http://\(port)/k k.png", "key": "k"]])
            let lock = larder.directory.path("lock.json")
            let run = try larder.prefetch(manifest, options: ["--write-lock", lock])
            #expect(run.status == 0, "\(run.finished)")
            let spelled = urls.map { $0.replacing("{w}", with: "512") } + ["http://\(port)/k k.png"]
            #expect(try entries(lock).map { $0["icon"] } == spelled.map { .string($0) })
            let copy = larder.directory.path("copy.json")
            _ = try larder.prefetch(lock, options: ["--write-lock", copy])
            #expect(text(copy) == text(lock))
            func names(_ manifest: String, _ directory: String) throws -> [String] {
                let path = larder.directory.path(directory)
                let export = try larder.binary.run([
                    "export", path, "--layout", "sdwebimage", "--cache", larder.cache,
                    "--manifest", manifest,
                ])
                #expect(export.status == 0, "\(export)")
                return try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
            }
            #expect(try names(lock, "locked") == names(manifest, "plain"))
        }
    }

    @Test func anEntryWithSeveralIconsBecomesSeveralEntries() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let manifest = try larder.write(
                #"{"name": "App", "icons": [{"src": "\#(urls[1])"}, {"src": "\#(urls[0])"}]}"#.utf8,
                to: "app.webmanifest")
            let lock = larder.directory.path("lock.json")
            _ = try larder.prefetch(manifest, options: ["--write-lock", lock])
            #expect(try entries(lock).map { $0["icon"] } == [.string(urls[1]), .string(urls[0])])
        }
    }

    @Test func standardOutputContainsOnlyTheLockFile() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let run = try larder.run(
                "prefetch", manifest, "--allow-private-network", "--write-lock", "-")
            let lock = try larder.write(run.standardOutputBytes, to: "lock.json")
            #expect(try entries(lock).count == 1)
            #expect(run.standardError.contains("fetched 1"))
            let none = try larder.run(
                "prefetch", "-", "--write-lock", "-", standardInput: Data("[]".utf8))
            #expect(none.status == 0 && none.standardOutput == "[]\n", "\(none)")
            #expect(try larder.prefetch(larder.write("[]\n".utf8, to: "none.json")).status == 0)
        }
    }

    @Test func theLockFileReplacesNoManifestOrCacheFile() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            _ = try larder.prefetch(manifest)
            let directory = larder.directory.path("directory")
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: false)
            for (path, status) in [
                (manifest, 64), (larder.cache + "/lock.json", 64), (directory, 1),
                (larder.directory.path("none/lock.json"), 1),
            ] as [(String, Int32)] {
                let requests = larder.origin.count()
                let run = try larder.run(
                    "prefetch", manifest, "--allow-private-network", "--write-lock", path)
                #expect(run.status == status, "\(path): \(run)")
                #expect(larder.origin.count() == requests)
            }
        }
    }

    @Test func aReplacedLockFileKeepsItsPermissions() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let lock = try larder.write("old".utf8, to: "lock.json")
            chmod(lock, 0o600)
            _ = try larder.prefetch(manifest, options: ["--write-lock", lock])
            var status = stat()
            #expect(stat(lock, &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(try entries(lock).count == 1)
        }
    }

    @Test func anInterruptedRunKeepsTheOldLockFile() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let lock = try larder.write("old".utf8, to: "lock.json")
            let process = try larder.startPrefetch(
                try larder.manifest(larder.origin.url("/a")),
                report: larder.directory.path("report.jsonl"), options: ["--write-lock", lock])
            try await larder.origin.waitForRequests(1)
            process.kill(SIGINT)
            let run = try process.wait()
            gate.open()
            #expect(run.status == 130, "\(run)")
            #expect(run.standardError.contains("not written, because 1 of 1 icon is missing"))
            #expect(text(lock) == "old")
        }
    }
}
