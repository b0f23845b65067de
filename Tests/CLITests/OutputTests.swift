import Foundation
import LarderTestSupport
import Testing

/// Standard output and standard error of the commands, and foreign text in them.
@Suite struct OutputTests {
    @Test func quietPrintsNothingOnSuccess() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            for _ in 1...2 {
                let finished = try larder.run(
                    "prefetch", manifest, "--quiet", "--allow-private-network")
                #expect(finished.status == 0)
                #expect(finished.standardOutput.isEmpty && finished.standardError.isEmpty)
            }
            let verify = try larder.run("verify", "--quiet")
            #expect(verify.status == 0)
            #expect(verify.standardOutput.isEmpty && verify.standardError.isEmpty)
        }
    }

    @Test func quietStillReportsFailures() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/missing"))
            let finished = try larder.run(
                "prefetch", manifest, "--quiet", "--allow-private-network")
            #expect(finished.status == 2)
            #expect(finished.standardOutput.isEmpty)
            #expect(finished.standardError.contains("http-404"))
        }
    }

    @Test func theSummaryCountsEveryOutcome() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let manifest = try larder.manifest([
                ["icon": urls[0]], ["icon": urls[0]], ["icon": urls[1]], ["name": "None"],
                ["icon": larder.origin.url("/x")], ["icon": larder.origin.url("/y")],
                ["icon": "ftp://a/"],
            ])
            let finished = try larder.run("prefetch", manifest, "--allow-private-network")
            #expect(finished.status == 2)
            let lines = finished.standardOutput.split(separator: "\n").map(String.init)
            let counts = "fetched 2, coalesced 1, failed 2, skipped 2"
            #expect(lines.first == "7 entries: \(counts)")
            #expect(
                lines.dropFirst().dropLast() == [
                    "  failed, http-404: 2",
                    "  not fetched, other-scheme: 1; for ipfs:, use --ipfs-gateway",
                ])
            #expect(lines.last?.contains(" received in ") == true)
            #expect(finished.standardError.split(separator: "\n").count == 2)
        }
    }

    /// A list of missing icons is often empty, so a quiet run does not report it.
    @Test func aManifestWithoutEntriesIsReported() async throws {
        try await withFixture { larder in
            let forms: [(name: String, text: String)] = [
                ("a.json", "[]"), ("b.json", #"{"apps": []}"#),
                ("c.plist", #"<?xml version="1.0"?><plist version="1.0"><array/></plist>"#),
            ]
            for (name, text) in forms {
                let path = try larder.write(text.utf8, to: name)
                for command in [
                    ["prefetch", path], ["plan", path], ["prefetch", path, "--json"],
                ] {
                    let finished = try larder.run(arguments: command)
                    #expect(finished.status == 0, "\(finished)")
                    #expect(
                        finished.standardError
                            == "larder: \(path): the manifest has no entries\n", "\(finished)")
                }
                let results = [
                    (["verify", "--manifest", path], "nothing was verified"),
                    (["evict", "--max-count", "1", "--keep", path], "nothing is kept"),
                ]
                for (command, result) in results {
                    let finished = try larder.run(arguments: command)
                    #expect(finished.status == 0, "\(finished)")
                    #expect(
                        finished.standardError == "larder: \(path): no entries, so \(result)\n",
                        "\(finished)")
                    let quiet = try larder.run(arguments: command + ["--quiet"])
                    #expect(quiet.standardError.isEmpty, "\(quiet)")
                }
                let quiet = try larder.run("prefetch", path, "--quiet")
                #expect(quiet.standardError.isEmpty, "\(quiet)")
            }
        }
    }

    @Test func summariesLeaveOutCountsThatAreZero() async throws {
        try await withFixture { larder in
            func line(_ number: Int, _ arguments: String...) throws -> String {
                let finished = try larder.run(arguments: arguments)
                #expect(finished.status == 0, "\(finished)")
                let lines = finished.standardOutput.split(separator: "\n")
                return lines.count > number ? String(lines[number]) : "\(finished)"
            }
            let none = try larder.manifest([], name: "none.json")
            #expect(try line(0, "prefetch", none) == "0 entries: fetched 0")
            #expect(try line(0, "plan", none) == "0 entries; 0 URLs")
            #expect(try line(2, "status") == "resources  0")
            #expect(try line(0, "verify").hasPrefix("0 objects ("))
            for command in [
                ["prefetch", none], ["verify"], ["status"], ["evict"],
                ["snapshot", larder.directory.path("copy")],
                ["export", larder.directory.path("out"), "--layout", "files"],
                ["import", larder.directory.path("out"), "--layout", "files", "--manifest", none],
            ] {
                let text = try larder.run(arguments: command).standardOutput
                #expect(!text.isEmpty && !text.contains(/\b0 B\b/), "\(text)")
            }
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            let prefetch = ["prefetch", manifest, "--allow-private-network"]
            for outcome in ["fetched", "already cached"] {
                let text = try larder.run(arguments: prefetch).standardOutput
                #expect(text.hasPrefix("2 entries: \(outcome) 2\n"), "\(text)")
            }
            #expect(try line(0, "plan", manifest, "-q").hasSuffix("; 2 URLs: cached 2"))
            #expect(try line(2, "status") == "resources  2, 2 fresh")
            #expect(try line(0, "verify").contains(" 2 resources: 2 whole ("))
        }
    }

    @Test func credentialsAreMasked() async throws {
        try await withFixture { larder in
            larder.origin.on("/a") { request in
                // "user:secret" in base64 (RFC 7617).
                request.header("Authorization") == "Basic dXNlcjpzZWNyZXQ="
                    ? Icons.reply(1) : .status(401)
            }
            let url = { (path: String) in
                "http://user:secret@127.0.0.1:\(larder.origin.port)\(path)"
            }
            let manifest = try larder.manifest(url("/a"), url("/missing"))
            let run = try larder.prefetch(manifest)
            #expect(run.outcomes == ["fetched", "failed"])
            let report = try String(
                contentsOfFile: larder.directory.path("report.jsonl"), encoding: .utf8)
            let outputs = [
                report, "\(run.finished)", "\(try larder.run("plan", manifest))",
            ]
            for output in outputs {
                #expect(!output.contains("secret"), "\(output)")
                #expect(output.contains("***@127.0.0.1"), "\(output)")
            }
            // The index stores no credentials, so the URL finds the resource with or without them.
            let plain = larder.origin.url("/a")
            let list = try larder.run("list").standardOutput
            #expect(list.hasSuffix("\t\(plain)\n"), "\(list)")
            for spelling in [plain, url("/a"), url("/a").replacing("user:secret", with: "***")] {
                #expect(try larder.cat(spelling) == Icons.icon(1), "\(spelling)")
            }
        }
    }

    @Test func hostileTextIsNeverPrintedRaw() async throws {
        try await withFixture { larder in
            let evil = "\u{1B}]0;owned\u{7}\u{9B}31m\u{8}\r\u{7F}\u{202E}"
            let origin = larder.origin
            origin.on("/a", Icons.reply(1))
            origin.on("/redirect", .redirect(to: "\u{1B}[2J:\u{7}"))
            origin.on("/raw", .raw("\u{1B}[2Jno HTTP\u{7}\r\n\r\n"))
            let manifest = try larder.manifest(
                [
                    ["name": evil, "icon": origin.url("/a"), "key": "key\(evil)"],
                    ["name": evil, "icon": origin.url("/missing\(evil)")],
                    ["name": evil, "icon": origin.url("/redirect")],
                    ["name": evil, "icon": origin.url("/raw")],
                    ["name": evil, "icon": "\(evil):x"],
                    ["name": evil, "icon": "evil:\(evil)"],
                    ["name": evil, "icon": "http://\(evil)/"],
                    ["name": evil, "icon": 7, "priority": evil],
                    ["name": evil],
                    ["name": evil, "icon": origin.url("/a"), "priority": evil],
                    ["name": evil, "icon": origin.url("/a"), "integrity": "sha256-\(evil)"],
                ], name: "evil\u{1B}[31m\n.json")
            let garbage = try larder.write(Array(evil.utf8), to: "garbage\u{1B}[31m")
            let report = larder.directory.path("report.jsonl")
            let network = ["--allow-private-network", "--attempts", "1"]
            let commands = [
                ["prefetch", manifest] + network,
                ["prefetch", manifest, "--json", "--report", report] + network,
                ["plan", manifest], ["plan", manifest, "--json"],
                ["plan", garbage], ["plan", "missing\u{1B}[31m"],
                ["list"], ["list", "--json"], ["cat", evil], ["path", evil], ["status"],
            ]
            for command in commands {
                let finished = try larder.binary.run(command + ["--cache", larder.cache])
                #expect(isHarmless(finished.standardOutput), "\(command): \(finished)")
                #expect(isHarmless(finished.standardError), "\(command): \(finished)")
            }
            #expect(try larder.status().resources == 2)
            #expect(isHarmless(try String(contentsOfFile: report, encoding: .utf8)))
            // The path of a cache, and of a file that is not a cache, is also escaped.
            for cache in [larder.directory.path("evil\u{1B}[32m"), manifest] {
                let status = try larder.binary.run(["status", "--cache", cache])
                #expect(isHarmless(status.standardOutput), "\(status)")
                #expect(isHarmless(status.standardError), "\(status)")
            }
        }
    }

    /// Whether the only control and format characters in the text are line feeds and tabs.
    private func isHarmless(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control: scalar == "\n" || scalar == "\t"
            case .format: false
            default: true
            }
        }
    }

    /// Foundation crashes when asked for the parent directory of such a path.
    @Test(arguments: ["b", "é"])
    func anOutputFileMayHaveAOneCharacterName(_ name: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            for command in [
                ["prefetch", manifest, "--allow-private-network", "--report", name],
                ["prefetch", manifest, "--allow-private-network", "--write-lock", name],
                ["status", "--output", name],
            ] {
                let path = larder.directory.path(name)
                try? FileManager.default.removeItem(atPath: path)
                let finished = try larder.binary.run(
                    command + ["--cache", larder.cache], directory: larder.directory.path)
                #expect(finished.status == 0, "\(finished)")
                #expect(FileManager.default.contents(atPath: path)?.isEmpty == false, "\(command)")
            }
        }
    }
}
