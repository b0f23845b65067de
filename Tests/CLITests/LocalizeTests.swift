import Foundation
import LarderTestSupport
import Testing

/// The command `localize`.
@Suite struct LocalizeTests {
    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    /// Also checks that each value is counted once.
    private func report(_ finished: Finished) throws -> [String: JSONValue] {
        let lines = try JSONValue.lines(finished.standardOutputBytes)
        let report = try #require(lines.first, "\(finished)")
        let kinds = report["kinds"]?.object?.values.compactMap(\.integer) ?? []
        let sum = ["localized", "unchanged", "placeholders", "failed"]
            .compactMap { report[$0]?.integer }.reduce(kinds.reduce(0, +), +)
        #expect(report["icons"]?.integer == sum, "\(finished)")
        return report
    }

    /// Writes a manifest with CRLF line ends, an icon of an icon set and other text.
    private func manifest(_ urls: [String], in larder: CLIFixture) throws -> String {
        let entries = urls.map { #"{"name": "é\u00e9", "n": 1.50, "icon": "\#($0)"}"# }
        let text =
            (["[{\"name\": \"Set\", \"icon\" : \"mdi:home\"}"] + entries)
            .joined(separator: ",\r\n\t") + "]\r\n"
        return try larder.write(text.utf8, to: "index.json")
    }

    @Test func theOutputDiffersOnlyInIcons() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try manifest(urls + [urls[0]], in: larder)
            let output = larder.directory.path("public.json")
            let arguments = ["localize", manifest, "--output", output, "--json"]
            let fetched = try larder.run(
                arguments: arguments + ["--fetch", "--allow-private-network"])
            #expect(fetched.status == 0, "\(fetched)")
            let report = try report(fetched)
            let values = try #require(report["values"]?.object)
            #expect(values.count == 3)
            var expected = try text(manifest)
            for (number, url) in urls.enumerated() {
                let value = try #require(values[url]?.string)
                expected = expected.replacing("\"\(url)\"", with: "\"\(value)\"")
                #expect(value.hasPrefix("public-icons/\(number)-"))
                let file = try Data(contentsOf: URL(fileURLWithPath: larder.directory.path(value)))
                #expect(Array(file) == Icons.icon(number))
            }
            #expect(try text(output) == expected)
            #expect(report["localized"] == .integer(4) && report["remaining"] == .integer(0))
            // Without --fetch, nothing is requested, and the bytes are the same.
            let count = larder.origin.count()
            #expect(try larder.run(arguments: arguments).status == 0)
            #expect(try text(output) == expected)
            #expect(larder.origin.count() == count)
        }
    }

    @Test func standardInputAndOutput() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let manifest = try manifest(urls, in: larder)
            let input = try Data(contentsOf: URL(fileURLWithPath: manifest))
            let finished = try larder.run(
                "localize", "-", "--data", "--fetch", "--allow-private-network",
                standardInput: input)
            #expect(finished.status == 0, "\(finished)")
            var expected = try text(manifest)
            for (number, url) in urls.enumerated() {
                let data = Data(Icons.icon(number)).base64EncodedString()
                let type = "image/svg+xml"
                expected = expected.replacing(url, with: "data:\(type);base64,\(data)")
            }
            #expect(finished.standardOutput == expected)
            #expect(finished.standardError.contains("2 localized"), "\(finished)")
        }
    }

    @Test func anIconThatMayNotBeStoredNeedsStoreAnyway() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1).header("Cache-Control", "no-store"))
            let manifest = try larder.manifest(larder.origin.url("/a"))
            let arguments = ["localize", manifest, "--data", "--allow-private-network", "--fetch"]
            #expect(try larder.run(arguments: arguments).status == 2)
            let run = try larder.run(arguments: arguments + ["--store-anyway"])
            #expect(run.status == 0 && run.standardOutput.contains("data:image/"), "\(run)")
        }
    }

    @Test func exportedIconsAreNoLinksToTheCache() async throws {
        try await withFixture { larder in
            let manifest = try manifest(larder.origin.serveIcons(1), in: larder)
            #expect(try larder.prefetch(manifest).status == 0)
            let output = larder.directory.path("public.json")
            #expect(try larder.run("localize", manifest, "--output", output).status == 0)
            let icons = larder.directory.path("public-icons")
            let names = try FileManager.default.contentsOfDirectory(atPath: icons)
            let name = try #require(names.first)
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(icons)/\(name)")
            #expect(names.count == 1 && attributes[.referenceCount] as? Int == 1)
        }
    }

    @Test(arguments: [[], ["--data"]])
    func aBaseURLInTheCatalogueIsAWarning(_ target: [String]) async throws {
        try await withFixture { larder in
            larder.origin.on("/m/a.png", Icons.reply(1))
            let text = """
                ---
                File: DEP-11
                Version: '0.12'
                Origin: test
                MediaBaseUrl: \(larder.origin.url("/m/"))
                ---
                Type: desktop-application
                ID: a
                Icon:
                  remote:
                  - {url: a.png, width: 64, height: 64}
                """
            let manifest = try larder.write(text.utf8, to: "dep11.yml")
            let finished = try larder.run(
                arguments: ["localize", manifest, "--output", larder.directory.path("out.yml")]
                    + ["--fetch", "--allow-private-network"] + target)
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.standardError.contains("has a base URL") == target.isEmpty)
        }
    }

    @Test func theOriginalIsKept() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let manifest = try manifest(urls, in: larder)
            let original = try text(manifest)
            #expect(try larder.prefetch(manifest).status == 0)
            func localize() throws {
                let finished = try larder.run("localize", manifest, "--in-place")
                #expect(finished.status == 0, "\(finished)")
            }
            try localize()
            let localized = try text(manifest)
            #expect(localized.contains("\"index-icons/0-"))
            #expect(try text(manifest + ".orig") == original)
            // Nothing is left to change.
            try localize()
            #expect(try text(manifest) == localized)
            // A new icon in the localized file does not replace the original.
            let added = localized.replacing("mdi:home", with: urls[1])
            for target in [["--data"], ["--server", "http://h.example"], []] {
                _ = try larder.write(added.utf8, to: "index.json")
                let finished = try larder.run(
                    arguments: ["localize", manifest, "--in-place"] + target)
                #expect(finished.status == 0, "\(finished)")
                #expect(try text(manifest) != added)
                #expect(try text(manifest + ".orig") == original)
            }
        }
    }

    @Test func missingIconsAreReportedOnce() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls[0])).status == 0)
            let manifest = try manifest([urls[0], urls[1], urls[1]], in: larder)
            let output = larder.directory.path("out.json")
            let kept = try larder.run(
                "localize", manifest, "--output", output, "--server", "http://h.example/")
            #expect(kept.status == 2)
            #expect(kept.standardOutput.components(separatedBy: "\(urls[1]): not in").count == 2)
            #expect(kept.standardOutput.contains("2 image URLs remain"), "\(kept)")
            let new = "http://h.example/icon?url=\(urls[0])"
            #expect(
                try text(output) == text(manifest).replacing("\"\(urls[0])", with: "\"\(new)"))
            let placed = try larder.run(
                "localize", manifest, "--output", output, "--missing", "placeholder")
            #expect(placed.status == 2)
            let counts = ": 1 localized, 1 left, 2 placeholders; wrote"
            #expect(placed.standardOutput.contains(counts), "\(placed)")
            #expect(placed.standardOutput.contains("  left, icon-set: 1;"), "\(placed)")
            #expect(!placed.standardOutput.contains("failed"), "\(placed)")
            #expect(try !text(output).contains("http"))
            let again = ["localize", manifest, "--output", output, "--missing", "placeholder"]
            let quiet = try larder.run(arguments: again + ["--quiet"])
            #expect(quiet.standardError.contains("icons: 2 placeholders, such as"), "\(quiet)")
            let json = try report(try larder.run(arguments: again + ["--json"]))
            #expect(json["placeholders"] == .integer(2) && json["failed"] == .integer(0))
        }
    }

    @Test func strictNeedsAFileWithoutImageURLs() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let text = """
                [{"icon": "\(urls[0])", "about": "![x](\(urls[1]))"}, {"icon": "\(urls[1])"}]
                """
            let manifest = try larder.write(text.utf8, to: "index.json")
            #expect(try larder.prefetch(manifest).status == 0)
            let output = larder.directory.path("out.json")
            for (options, status): ([String], Int32) in [([], 0), (["--strict"], 2)] {
                let finished = try larder.run(
                    arguments: ["localize", manifest, "--output", output] + options)
                #expect(finished.status == status)
                #expect(finished.standardOutput.contains("1 image URL remains"), "\(finished)")
            }
        }
    }

    @Test func iconsAtTwoLevelsAndInASetAreReplacedOnce() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            larder.origin.on("/home.svg", Icons.reply(2))
            let text = """
                sections:
                - name: S
                  icon: \(urls[0])
                  items:
                  - {title: A, icon: "\(urls[1])"}
                  - title: B
                    icon: mdi-home

                """
            let manifest = try larder.write(text.utf8, to: "conf.yml")
            let output = larder.directory.path("out.yml")
            let finished = try larder.run(
                "localize", manifest, "--output", output, "--json", "--entries", "sections",
                "--entries", "..items", "--icon-key", "..icon", "--icon-set",
                "mdi=\(larder.origin.url("/")){name}.svg", "--fetch", "--allow-private-network")
            #expect(finished.status == 0, "\(finished)")
            let report = try report(finished)
            #expect(report["icons"] == .integer(3) && report["localized"] == .integer(3))
            let localized = try self.text(output)
            #expect(!localized.contains("http") && !localized.contains("mdi-home"), "\(localized)")
            #expect(localized.contains("out-icons/home-"), "\(localized)")
            #expect(localized.split(separator: "\n").count == 7, "\(localized)")
        }
    }

    @Test func aBuiltURLIsCountedAndNotWritten() async throws {
        try await withFixture { larder in
            _ = larder.origin.serveIcons(2)
            let manifest = try larder.write(#"[{"id":"0"},{"id":"1"}]"#.utf8, to: "index.json")
            let template = ["--icon-template", larder.origin.url("/") + "{id}"]
            #expect(try larder.prefetch(manifest, options: template).status == 0)
            let output = larder.directory.path("out.json")
            let finished = try larder.run(
                arguments: ["localize", manifest, "--output", output] + template)
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.standardOutput.contains(": 2 left ("), "\(finished)")
            let note = "  left, not-in-manifest: 2; --icon-template built their URLs"
            #expect(finished.standardOutput.contains(note), "\(finished)")
            #expect(try text(output) == text(manifest))
        }
    }

    @Test func aDigestOfTheOriginalIsNamed() async throws {
        try await withFixture { larder in
            let manifest = try manifest(larder.origin.serveIcons(1), in: larder)
            _ = try larder.write("".utf8, to: "index.json.md5")
            #expect(try larder.prefetch(manifest).status == 0)
            let finished = try larder.run(
                "localize", manifest, "--output", larder.directory.path("out.json"))
            #expect(finished.standardError.contains("index.json.md5: has a digest"), "\(finished)")
            // Its name or shape shows that a catalogue has a digest elsewhere.
            let url = larder.origin.url("/0.svg")
            let kodi = ["--entries", "/addons/addon", "--icon-key", "icon"]
            let index = """
                {"repo":{"address":"\(url)"},
                 "packages":{"a":{"metadata":{"icon":{"en-US":{"name":"/a.png"}}}}}}
                """
            for (name, text, options, other) in [
                (
                    "addons.xml", "<addons><addon><icon>\(url)</icon></addon></addons>", kodi,
                    "addons.xml.md5"
                ),
                ("v2.json", index, [], "entry.json"),
            ] {
                let manifest = try larder.write(text.utf8, to: name)
                let finished = try larder.run(
                    arguments: [
                        "localize", manifest, "--missing", "placeholder", "--in-place",
                    ] + options)
                #expect(finished.standardError.contains("\(other): has a digest"), "\(finished)")
            }
        }
    }

    @Test func reportsMatchTheDocumentation() async throws {
        try await withFixture { larder in
            let manifest = try manifest(larder.origin.serveIcons(1) + ["ftp:"], in: larder)
            let finished = try larder.run(
                "localize", manifest, "--output", larder.directory.path("out.json"), "--data",
                "--json", "--fetch", "--allow-private-network")
            let reports = try JSONValue.lines(finished.standardOutputBytes)
            try OutputDocument().compare(reports, with: "localize --json")
        }
    }

    @Test(.enabled(if: Mount.isPossible, "mounting requires root on Linux"))
    func aFullDiskLeavesTheOldFile() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let source = try manifest(urls, in: larder)
            #expect(try larder.prefetch(source).status == 0)
            let folder = larder.directory.path("disk")
            let disk = try Mount.memory(at: folder, size: "64k")
            defer { disk.remove() }
            let manifest = folder + "/index.json"
            try FileManager.default.copyItem(atPath: source, toPath: manifest)
            let old = try text(manifest)
            let filler = open(folder + "/filler", O_WRONLY | O_CREAT, 0o644)
            let block = [UInt8](repeating: 1, count: 4096)
            while write(filler, block, block.count) > 0 {}
            close(filler)
            for target in [["--data"], ["--icons", folder + "/icons"]] {
                let finished = try larder.run(
                    arguments: ["localize", manifest, "--in-place"] + target)
                #expect(finished.status == 74, "\(finished)")
                #expect(try text(manifest) == old)
            }
        }
    }

    #if os(Linux)
        /// The manifest is the old or the new one, and the next run has the same result as without
        /// the kill.
        @Test func aKilledRunLeavesTheOldOrTheNewFile() async throws {
            try await withFixture { larder in
                let urls = larder.origin.serveIcons(2)
                let source = try manifest(urls, in: larder)
                #expect(try larder.prefetch(source).status == 0)
                let shim = try FaultShim(in: larder.directory)
                let old = try text(source)
                let target = larder.directory.path("site")
                func run(_ environment: [String: String]) throws -> Finished {
                    try larder.run(
                        arguments: ["localize", target + "/index.json", "--in-place", "--quiet"],
                        environment: environment)
                }
                func prepare() throws {
                    try FileManager.default.removeTree(atPath: target)
                    try FileManager.default.createDirectory(
                        atPath: target, withIntermediateDirectories: true)
                    try FileManager.default.copyItem(
                        atPath: source, toPath: target + "/index.json")
                }
                func files() throws -> [String: Data] {
                    var files: [String: Data] = [:]
                    for case let name as String in FileManager.default.enumerator(atPath: target)
                        ?? .init()
                    where !name.hasSuffix(".tmp") {
                        let path = URL(fileURLWithPath: "\(target)/\(name)")
                        if let bytes = try? Data(contentsOf: path) { files[name] = bytes }
                    }
                    return files
                }
                try FileManager.default.createDirectory(
                    atPath: target, withIntermediateDirectories: true)
                try prepare()
                let log = larder.directory.path("calls")
                #expect(try run(shim.counting(below: target, log: log)).status == 0)
                let new = try text(target + "/index.json")
                let whole = try files()
                #expect(whole.count == 4)
                let calls = try text(log).count { $0 == "\n" }
                #expect(calls > 5)
                for number in 1...calls {
                    try prepare()
                    #expect(
                        try run(shim.killing(at: number, below: target)).status == -SIGKILL)
                    let left = try text(target + "/index.json")
                    #expect(left == old || left == new, "killed at call \(number)")
                    if left == new { #expect(try files() == whole, "killed at call \(number)") }
                    #expect(try run([:]).status == 0)
                    #expect(try files() == whole, "killed at call \(number)")
                }
            }
        }
    #endif

    @Test func theServerServesTheCatalogueInItsFormat() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(1)
            let manifest = try manifest(urls, in: larder)
            #expect(try larder.prefetch(manifest).status == 0)
            let serve = try ServeRun(larder, ["--manifest", manifest])
            let client = try serve.client()
            let answer = try client.get("/catalogue/index.json")
            #expect(answer.status == 200)
            // The client names the server so.
            let new = "http://localhost/icon?url=\(urls[0])"
            let expected = try text(manifest).replacing("\"\(urls[0])", with: "\"\(new)")
            #expect(String(decoding: answer.body, as: UTF8.self) == expected)
            #expect(try client.get("/icon?url=\(urls[0])").body == Icons.icon(0))
            // A changed file is read again, and an unreadable one is not.
            let newer = try text(manifest).replacing("é", with: "ü")
            _ = try larder.write(newer.utf8, to: "index.json")
            let second = String(
                decoding: try client.get("/catalogue/index.json").body, as: UTF8.self)
            #expect(second == expected.replacing("é", with: "ü"))
            _ = try larder.write("[".utf8, to: "index.json")
            let third = String(
                decoding: try client.get("/catalogue/index.json").body, as: UTF8.self)
            #expect(third == second)
            #expect(try client.get("/catalogue/other.json").status == 404)
            #expect(try serve.stop().status == 0)
        }
    }
}
