import Foundation
import LarderExport
import LarderTestSupport
import Testing

/// The commands `export` and `import`.
@Suite struct ExportTests {
    private func report(_ finished: Finished) throws -> [String: JSONValue] {
        try #require(try JSONValue.lines(finished.standardOutputBytes).first, "\(finished)")
    }

    private func files(_ path: String) -> Set<String> {
        var files: Set<String> = []
        for case let name as String in FileManager.default.enumerator(atPath: path) ?? .init() {
            var status = stat()
            guard lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                continue
            }
            files.insert(name)
        }
        return files
    }

    /// Otherwise the files of the missing entries would be removed.
    @Test(arguments: ["nuke", "files", "gallery"])
    func anExportWithATruncatedManifestPrunesNothing(_ layout: String) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            let lines = urls.map { #"{"name": "App", "icon": "\#($0)"}"# + "\n" }
            let whole = try larder.write(lines.joined().utf8, to: "whole.jsonl")
            let cut = try larder.write((lines[0] + lines[1].prefix(20)).utf8, to: "cut.jsonl")
            let short = try larder.write(lines[0].utf8, to: "short.jsonl")
            #expect(try larder.prefetch(whole).status == 0)
            func export(_ manifest: String) throws -> Finished {
                try larder.run(
                    "export", larder.directory.path("seed"), "--layout", layout, "--prune",
                    "--json", "--manifest", manifest)
            }
            #expect(try report(export(whole))["failed"] == .integer(0))
            let again = try export(cut)
            #expect(again.status == 2)
            #expect(try report(again)["pruned"] == .integer(0), "\(again)")
            #expect(try report(export(short))["pruned"] == .integer(3))
        }
    }

    @Test(arguments: ExportLayout.allCases.filter(\.isImportable).map(\.rawValue))
    func exportedIconsCanBeImported(_ layout: String) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            let seed = larder.directory.path("seed")
            let arguments = [seed, "--layout", layout, "--manifest", manifest, "--json"]
            let first = try larder.run(arguments: ["export"] + arguments)
            #expect(first.status == 0, "\(first)")
            let exported = try report(first)
            #expect(exported["icons"] == .integer(4))
            #expect(exported["failed"] == .integer(0))
            #expect(exported["directory"]?.string?.hasPrefix(seed) == true)
            let second = try report(larder.run(arguments: ["export"] + arguments))
            #expect(second["unchanged"] == .integer(4))

            let copy = larder.directory.path("copy")
            let imported = try larder.binary.run(["import"] + arguments + ["--cache", copy])
            #expect(imported.status == 0, "\(imported)")
            #expect(try report(imported)["imported"] == .integer(4))
            let bytes = try larder.binary.run(["cat", urls[2], "--cache", copy])
            #expect(bytes.standardOutputBytes == Data(Icons.icon(2)))
            #expect(try larder.binary.run(["verify", "--cache", copy]).status == 0)
            #expect(try larder.verify() == 0)
            // Imported icons are stale until their origin confirms them.
            let status = try larder.binary.run(["status", "--json", "--cache", copy])
            #expect(try report(status)["stale"] == .integer(4))
        }
    }

    @Test func aResizeWithoutItsProgramExitsWith69() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let seed = larder.directory.path("seed")
            let finished = try larder.run(
                "export", seed, "--layout", "files", "--resize", "60",
                environment: ["PATH": larder.directory.path("none")])
            #expect(finished.status == 69, "\(finished)")
            #expect(finished.standardError.contains("install libvips-tools"), "\(finished)")
            #expect(files(seed).isEmpty)
        }
    }

    @Test func anExportWithoutIconsSaysSo() async throws {
        try await withFixture { larder in
            let none = try larder.write("[]".utf8, to: "none.json")
            let inline = try larder.write(
                #"[{"icon": "data:image/svg+xml;base64,PHN2Zy8+"}]"#.utf8, to: "inline.json")
            _ = try larder.prefetch(none)
            let seed = larder.directory.path("seed")
            for (arguments, source) in [
                (["--json"], larder.cache), (["--manifest", none], none),
                (["--manifest", inline, "--quiet"], inline),
            ] {
                let finished = try larder.run(
                    arguments: ["export", seed, "--layout", "nuke"] + arguments)
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.standardError == "larder: \(source): no icons to export\n")
            }
        }
    }

    @Test func exportPrintsEachFailedIcon() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls[0])).status == 0)
            let manifest = try larder.manifest(urls: urls, name: "both.json")
            let seed = larder.directory.path("seed")
            let arguments = ["export", seed, "--layout", "nuke", "--manifest", manifest]
            let finished = try larder.run(arguments: arguments)
            #expect(finished.status == 2)
            #expect(
                finished.standardOutput.contains(
                    "\(urls[1]): not in the cache; a prefetch downloads the icon\n"))
            #expect(finished.standardOutput.contains("1 failed (1 missing)"))
            let quiet = try larder.run(arguments: arguments + ["--quiet"])
            #expect(quiet.status == 2 && quiet.standardOutput.isEmpty)
            #expect(quiet.standardError.split(separator: "\n").count == 1, "\(quiet)")
            #expect(files(seed).count == 1)
        }
    }

    @Test func exportReadsManifestsFromURLsAndStandardInput() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            let json = try Data(contentsOf: URL(fileURLWithPath: manifest))
            larder.origin.on("/apps.json", .ok(Array(json), type: "application/json"))
            let url = larder.origin.url("/apps.json")
            #expect(try larder.prefetch(url).status == 0)
            larder.origin.on("/apps.json", .status(500))
            let seed = larder.directory.path("seed")
            func export(_ manifest: String, standardInput: Data? = nil) throws -> Finished {
                try larder.run(
                    "export", seed, "--layout", "files", "--manifest", manifest, "--json",
                    standardInput: standardInput)
            }
            #expect(try report(export(url))["icons"] == .integer(2))
            #expect(try report(export("-", standardInput: json))["unchanged"] == .integer(2))
            #expect(try export(larder.directory.path("none.json")).status == 66)
            #expect(try export(larder.origin.url("/never.json")).status == 66)
            #expect(try export("-", standardInput: Data("<".utf8)).status == 65)
            #expect(
                files(seed)
                    == ["App-1.svg", "App-2.svg", "index.json"])
        }
    }

    @Test func exportWritesTheInstaller() async throws {
        try await withFixture { larder in
            #expect(
                try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0])).status == 0
            )
            let file = larder.directory.path("LarderSeed.swift")
            let finished = try larder.run(
                "export", larder.directory.path("Seed"), "--layout", "kingfisher", "--installer",
                file)
            #expect(finished.status == 0, "\(finished)")
            let source = try String(contentsOfFile: file, encoding: .utf8)
            #expect(source.contains("enum LarderKingfisherSeed {"))
            #expect(source.contains("com.onevcat.Kingfisher.ImageCache.default"))
            // The missing directory is detected before anything is written.
            let other = larder.directory.path("Other")
            let nowhere = try larder.run(
                "export", other, "--layout", "nuke", "--installer", other + "/none/a.swift")
            #expect(nowhere.status != 0 && files(other).isEmpty, "\(nowhere)")
            // The installer must not replace a manifest or be inside the cache.
            let manifest = try larder.manifest(larder.origin.url("/0"))
            for place in [manifest, larder.cache + "/a.swift"] {
                let refused = try larder.run(
                    "export", larder.directory.path("Seed"), "--layout", "nuke", "--manifest",
                    manifest, "--installer", place)
                #expect(refused.status == 64, "\(refused)")
            }
        }
    }

    @Test func exportAndImportExitWithTheStatusOfTheError() async throws {
        try await withFixture { larder in
            let seed = larder.directory.path("seed")
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            // A missing cache is a missing input, and is not created.
            #expect(try larder.run("export", seed, "--layout", "nuke").status == 66)
            #expect(!larder.hasCache)
            let nowhere = try larder.run(
                "import", seed, "--layout", "nuke", "--manifest", manifest)
            #expect(nowhere.status == 66, "\(nowhere)")
            #expect(!larder.hasCache)
            #expect(try larder.prefetch(manifest).status == 0)
            let inside = try larder.run("export", larder.cache + "/seed", "--layout", "nuke")
            #expect(inside.status == 1)
            #expect(inside.standardError.contains("is inside the cache"), "\(inside)")
            // The directory has the layout of Nuke.
            #expect(try larder.run("export", seed, "--layout", "nuke").status == 0)
            let other = try larder.run("import", seed, "--layout", "coil", "--manifest", manifest)
            #expect(other.status == 66, "\(other)")
            // Another export holds the lock of the directory.
            let folder = seed + "/com.github.kean.Nuke.DataCache"
            let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
            #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            #expect(try larder.run("export", seed, "--layout", "nuke").status == 75)
            close(descriptor)
        }
    }

    /// The parent of a path with one component is the working directory.
    @Test(arguments: ["k", "é", "k/", "./k", "k/l", "k/../l"])
    func anImportAcceptsARelativeCachePath(cache: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            #expect(try larder.prefetch(manifest).status == 0)
            let exported = try larder.binary.run(
                ["export", "s", "--layout", "nuke", "--cache", larder.cache],
                directory: larder.directory.path)
            #expect(exported.status == 0, "\(exported)")
            let imported = try larder.binary.run(
                ["import", "s", "--layout", "nuke", "--manifest", manifest, "--cache", cache],
                directory: larder.directory.path)
            #expect(imported.status == 0, "\(imported)")
            let verified = try larder.binary.run(
                ["verify", "--cache", cache, "--manifest", manifest],
                directory: larder.directory.path)
            #expect(verified.status == 0, "\(verified)")
        }
    }

    /// An import must not create a cache inside the directory that it reads, either.
    @Test func aFailedImportCreatesNoCache() async throws {
        try await withFixture { larder in
            let seed = larder.directory.path("seed")
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            #expect(try larder.prefetch(manifest).status == 0)
            #expect(try larder.run("export", seed, "--layout", "nuke").status == 0)
            let folder = "com.github.kean.Nuke.DataCache"
            let before = files(seed)
            let new = larder.directory.path("new")
            let link = larder.directory.path("link")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: seed)
            for (directory, cache, list, status) in [
                // The directory of the library instead of its parent.
                ("\(seed)/\(folder)", new, manifest, 66), (seed, new, "none.json", 66),
                (seed, seed, manifest, 1), (seed, "\(seed)/\(folder)/new", manifest, 1),
                (seed, link, manifest, 1),
            ] {
                let finished = try larder.binary.run([
                    "import", directory, "--layout", "nuke", "--manifest", list, "--cache", cache,
                ])
                #expect(finished.status == status, "\(finished)")
                #expect(!FileManager.default.fileExists(atPath: new))
                #expect(files(seed) == before)
            }
            for options in [
                // This layout needs an `index.json`.
                ["--layout", "files", "--manifest", manifest],
                ["--layout", "nuke", "--manifest", "none.json", "--exclusive", "nightly"],
                ["--layout", "nuke", "--manifest", "https://a.example/", "--exclusive", "nightly"],
            ] {
                let finished = try larder.binary.run(["import", seed, "--cache", new] + options)
                #expect(finished.status == 66, "\(finished)")
                #expect(!FileManager.default.fileExists(atPath: new))
            }
            // The cache can be next to the directory of the library, as on a Mac.
            let finished = try larder.binary.run([
                "import", seed, "--layout", "nuke", "--manifest", manifest, "--cache",
                "\(seed)/larder",
            ])
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.standardOutput.contains("1 imported"))
        }
    }

    @Test func anImportThatFindsNothingSuggestsCheckingTheLayout() async throws {
        try await withFixture { larder in
            let seed = larder.directory.path("seed")
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            #expect(try larder.prefetch(manifest).status == 0)
            #expect(try larder.run("export", seed, "--layout", "kingfisher").status == 0)
            let finished = try larder.binary.run([
                "import", seed, "--layout", "kingfisher", "--kingfisher-version", "7",
                "--manifest", manifest, "--cache", larder.directory.path("new"),
            ])
            #expect(finished.status == 0)
            #expect(finished.standardOutput.hasPrefix("1 icon: 1 missing ("), "\(finished)")
            #expect(finished.standardOutput.contains("check --layout"), "\(finished)")
        }
    }

    @Test func theKingfisherVersionSelectsTheLayout() async throws {
        try await withFixture { larder in
            #expect(
                try larder.prefetch(larder.manifest(larder.origin.serveIcons(1)[0])).status == 0)
            let places = ["a", "b"].map { larder.directory.path($0) }
            for (place, options) in zip(
                places,
                [["kingfisher7"], ["kingfisher", "--kingfisher-version", "7"]])
            {
                let finished = try larder.run(
                    arguments: ["export", place, "--layout"] + options + ["--json"])
                #expect(finished.status == 0)
                #expect(finished.standardOutput.contains("\"layout\":\"\(options[0])\""))
            }
            #expect(files(places[0]) == files(places[1]) && !files(places[0]).isEmpty)
        }
    }

    #if os(Linux)
        /// One object takes seconds to read, so the signal arrives before the export ends.
        @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
        func anInterruptedExportKeepsFinishedFiles(
            _ signal: Int32, _ status: Int32
        ) async throws {
            try await withFixture { larder in
                let urls = larder.origin.serveIcons(3)
                #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
                let path = try larder.objectPath(urls[1])
                try makeSlowToRead(path)
                let seed = larder.directory.path("seed")
                let access = try FileAccess(of: path)
                let process = try larder.binary.start([
                    "export", seed, "--layout", "nuke", "--json", "--cache", larder.cache,
                ])
                access.wait()
                process.kill(signal)
                let finished = try process.wait()
                #expect(finished.status == status, "\(finished)")
                let report = try report(finished)
                #expect(report["interrupted"] == .boolean(true))
                #expect(report["failed"] == .integer(0))
                let done = 3 - (report["unfinished"]?.integer ?? 0)
                #expect(done < 3)
                #expect(files(seed).count == done, "\(files(seed))")
            }
        }
    #endif
}
