import Foundation
import LarderTestSupport
import Testing

/// Wrong usage, and paths of caches and output files that cannot be used.
@Suite struct UsageTests {
    @Test(arguments: [
        ["prefetch"],
        ["prefetch", "-", "-"],
        ["prefetch", "apps.json", "--no-such-option"],
        ["prefetch", "apps.json", "--max-concurrent", "0"],
        ["prefetch", "apps.json", "--max-concurrent", "1001"],
        ["prefetch", "apps.json", "-j", "0"],
        ["verify", "-j1001"],
        ["prefetch", "apps.json", "--max-per-host", "many"],
        ["prefetch", "apps.json", "--attempts", "0"],
        ["prefetch", "apps.json", "--max-object-size", "0"],
        ["prefetch", "apps.json", "--max-object-size", "5 apples"],
        ["prefetch", "apps.json", "--max-object-size", "99999999TB"],
        ["prefetch", "apps.json", "--timeout", "soon"],
        ["prefetch", "apps.json", "--timeout", "0s"],
        ["prefetch", "apps.json", "--base-url", "icons/"],
        ["prefetch", "apps.json", "--base-url", "ftp://example.com/"],
        ["prefetch", "apps.json", "--base-url", "https://example.com/{f}/"],
        ["prefetch", "apps.json", "--entries", "a[?@.kind=='x'].list"],
        ["prefetch", "apps.json", "--user-agent", "a\r\nb"],
        ["prefetch", "apps.json", "--revalidate", "sometimes"],
        ["prefetch", "apps.json", "--failure-ttl", "soon"],
        ["prefetch", "apps.json", "--offline", "--force"],
        ["prefetch", "apps.json", "--offline", "--retry-gone"],
        ["prefetch", "apps.json", "--force", "--revalidate", "never"],
        ["prefetch", "apps.json", "--write-lock", "-", "--json"],
        ["prefetch", "apps.json", "--write-lock", "-", "--report", "-"],
        ["prefetch", "apps.json", "--write-lock", "a.json", "--report", "./a.json"],
        ["prefetch", "apps.json", "--write-lock", "a.json", "--retry-failed"],
        ["prefetch", "apps.json", "--offline", "--retry-failed"],
        ["prefetch", "apps.json", "--offline", "--revalidate", "always"],
        ["prefetch", "apps.json", "--write-lock", "a.json", "--shard", "0/2"],
        ["plan", "apps.json", "--max-failures", "1"],
        ["plan", "apps.json", "--fail-on", "missing"],
        ["plan", "apps.json", "--health", "--fail-on", "missing,broken"],
        ["plan", "apps.json", "--health", "--fail-on", ""],
        ["plan", "apps.json", "--health", "--fail-on", "oversized"],
        ["plan", "apps.json", "--health", "--scale", "2"],
        ["plan", "apps.json", "--health", "--shown-size", "0"],
        ["plan", "apps.json", "--health", "--explain"],
        ["plan", "apps.json", "--health", "--force"],
        ["plan", "apps.json", "--health", "--retry-failed"],
        ["plan", "apps.json", "--health", "--icon-files", "a", "--base-url", "http://a.example/"],
        ["plan", "apps.json", "--health", "--format", "junit", "--json"],
        ["plan"],
        ["localize"],
        ["localize", "a.json"],
        ["localize", "a.json", "--output", ""],
        ["localize", "a.json", "--icons", "", "--output", "b.json"],
        ["localize", "a.json", "--in-place", "--output", "b.json"],
        ["localize", "-", "--in-place", "--data"],
        ["localize", "https://a.example/a.json", "--in-place", "--data"],
        ["localize", "a.json", "--data", "--icons", "b"],
        ["localize", "a.json", "--data", "--server", "http://a.example"],
        ["localize", "a.json", "--server", "a.example"],
        ["localize", "a.json", "--data", "--max-data", "1MiB"],
        ["localize", "a.json", "--output", "b.json", "--max-data", "1k"],
        ["localize", "a.json", "--data", "--json"],
        ["localize", "a.json", "--output", "b.json", "--missing", "no"],
        ["verify", "--sample", "0/10"],
        ["verify", "--sample", "11/10"],
        ["verify", "--sample", "0%"],
        ["verify", "--sample", "101%"],
        ["verify", "--sample", "a tenth"],
        ["verify", "--sample", "5%", "--max-duration", "10m"],
        ["verify", "--sample", "3/10", "--seed", "1"],
        ["verify", "--manifest", "apps.json", "--sample", "5%"],
        ["verify", "--manifest", "apps.json", "--max-duration", "10m"],
        ["verify", "apps.json"],
        ["path"],
        ["cat", "one", "two"],
        ["status", "--format", "xml"],
        ["evict", "--max-size", "big"],
        ["evict", "--max-count", "-1"],
        ["evict", "--by", "unknown"],
        ["evict", "--by", "fetched"],
        ["status", "--json", "--format", "text"],
        ["verify", "--base-url", "http://a.example/"],
        ["evict", "--keep", "-", "--only", "-"],
        ["evict", "--keep", "ftp://example.com/apps.json"],
        ["pin", "-", "-"],
        ["unpin"],
        ["export"],
        ["export", "seed"],
        ["export", "", "--layout", "nuke"],
        ["export", "seed", "--layout", "unknown"],
        ["import", "seed", "--layout", "gallery", "--manifest", "m"],
        ["export", "seed", "--layout", "asset-catalog"],
        ["export", "seed", "--layout", "nuke", "--kingfisher-version", "7"],
        ["export", "seed", "--layout", "kingfisher7", "--kingfisher-version", "7"],
        ["remote", "verify", "--remote", "s3://b", "--connect-to", "a"],
        ["export", "seed", "--layout", "kingfisher", "--kingfisher-version", "0"],
        ["export", "seed", "--layout", "files", "--folder", "icons"],
        ["export", "seed", "--layout", "nuke", "--folder", ""],
        ["export", "seed", "--layout", "nuke", "--folder", ".."],
        ["export", "seed", "--layout", "coil", "--folder", "a/b"],
        ["import", "seed", "--layout", "files", "--manifest", "m", "--folder", "icons"],
        ["import", "seed", "--layout", "glide", "--manifest", "m", "--folder", "/tmp"],
        ["export", "seed", "--layout", "nuke", "--manifest", ""],
        ["export", "seed", "--layout", "nuke", "--manifest", "-", "--manifest", "-"],
        ["export", "seed", "--layout", "nuke", "--entries", "apps"],
        ["export", "seed", "--layout", "files", "--installer", "a.swift"],
        ["export", "seed", "--layout", "nuke", "--installer", "-"],
        ["export", "seed", "--layout", "nuke", "--resize", "0"],
        ["export", "seed", "--layout", "gallery", "--resize", "60"],
        ["export", "seed", "--layout", "nuke", "--scales", "2"],
        ["export", "seed", "--layout", "nuke", "--resize", "60", "--scales", "1,1"],
        ["export", "seed", "--layout", "nuke", "--resize", "60", "--scales", "5"],
        ["export", "s.xcassets", "--layout", "asset-catalog", "--resize", "60", "--scales", "4"],
        ["import", "seed", "--layout", "nuke"],
        ["import", "seed", "--layout", "asset-catalog", "--manifest", "apps.json"],
        ["import", "seed", "--layout", "nuke", "--manifest", "a", "--max-object-size", "0"],
        ["unpin", "a.json", "--all"],
        ["clean"],
    ])
    func wrongUsageExitsWith64(_ arguments: [String]) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64, "\(finished)")
        #expect(finished.standardError.contains("Error: "), "\(finished)")
        #expect(finished.standardOutput.isEmpty)
    }

    @Test(arguments: [
        (["evict", "--max-size", "-1"], "500MB"), (["evict", "--max-age", "3y"], "30d"),
        (["evict", "--grace", "-1"], "30d"),
        (["prefetch", "m", "--timeout", "0"], "more than 0"),
        (["prefetch", "m", "--limit-rate", "0"], "more than 0"),
        (["prefetch", "m", "--limit-rate", "2 MB/s"], "write 2MB/s without a space"),
        (["prefetch", "m", "--limit-rate", "99999999999GB/s"], "too large"),
        (["prefetch", "m", "--limit-rate", "fast"], "500k"),
        (["prefetch", "m", "--rate-per-host", "5 /s"], "write 5/s without a space"),
        (["prefetch", "m", "--rate-per-host", "1e3"], "0.5"),
        (["prefetch", "m", "--max-failures", "200%"], "100%"),
        (["prefetch", "m", "--allow-host", "http://a.example/"], "HOST:PORT"),
        (["prefetch", "m", "--report", ""], "--report"),
        (["prefetch", "m", "--write-lock", ""], "--write-lock"),
        (["status", "--output", ""], "--output"), (["plan", ""], "empty"),
        (["plan", "ftp://a.example/m.json"], "'ftp'"), (["unpin", "--all", "a"], "combined"),
        (["plan", "m", "--entries", "a[x"], "expected [*]"),
        (["prefetch", "m", "--shard", "2/2"], "0/8"),
        (["prefetch", "m", "--shard", "0/257"], "256"),
        (["plan", "m", "--shard=-1/2"], "0/8"), (["plan", "m", "--shard", "1"], "auto"),
        (["plan", "m", "--shard", "auto/0"], "auto/n"), (["plan", "m", "--shard", "0/2/3"], "0/8"),
        (["plan", "m", "--shard", "+0/2"], "0/8"), (["plan", "m", "--shard", "0/"], "0/8"),
        (["plan", "m", "--split-host", "a.example=2"], "needs --shard"),
        (["plan", "m", "--shard", "0/2", "--split-host", "a.example"], "HOST=K"),
        (["plan", "m", "--shard", "0/2", "--split-host", "a.example=1"], "from 2 to 256"),
        (["plan", "m", "--shard", "0/2", "--split-host", "http://u:p@a.example=2"], "HOST=K"),
        (["plan", "m", "--shard", "0/2", "--split-host", "a.example:80=2"], "HOST=K"),
        (
            ["plan", "m", "--shard", "0/2", "--split-host", "a=2", "--split-host", "A.=3"], "twice"
        ),
        (["prefetch", "m", "--shard", "0/2", "--split-host", "a=7"], "use --max-per-host 7 or"),
        (
            ["plan", "m", "--shard", "0/2", "--split-host", "a=6", "--max-per-host", "5"],
            "--max-per-host is 5"
        ),
        (["serve", "--log-level", "loud"], "warning"),
        (["verify", "--sample", "10"], "3/10"), (["verify", "--sample", "0%"], "5%"),
    ])
    func anInvalidValueIsExplained(_ arguments: [String], _ hint: String) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64, "\(finished)")
        let complaint = finished.standardError.prefix { $0 != "\n" }
        #expect(complaint.hasPrefix("Error: ") && complaint.contains(hint), "\(finished)")
    }

    /// Other wrong arguments do not hide the suggestion.
    @Test(arguments: [
        (["verify", "--remote", "s3://b/p", "--repair"], "remote verify"),
        (["evict", "--max-age", "3y", "--remote", "s3://b/p"], "remote evict"),
    ])
    func formerNamesOfRemoteCommandsSuggestTheNewOnes(
        _ arguments: [String], _ command: String
    ) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64 && finished.standardOutput.isEmpty, "\(finished)")
        let complaint = finished.standardError.prefix { $0 != "\n" }
        #expect(complaint.contains(command), "\(finished)")
    }

    @Test(arguments: [[], ["help"]])
    func rehearseSuggestsTheSeparateProgram(_ before: [String]) throws {
        let finished = try LarderBinary().run(before + ["rehearse", "apps.json"])
        #expect(finished.status == 64)
        #expect(
            finished.standardError.hasPrefix(
                "Error: 'rehearse' is now a separate program: larder-rehearse\nUsage: "),
            "\(finished)")
        #expect(finished.standardOutput.isEmpty)
    }

    @Test(arguments: [
        ("prefecth", "prefetch"), ("Prefetch", "prefetch"), ("fetch", "prefetch"),
        ("evit", "evict"), ("lsit", "list"), ("pni", "pin"), ("unpinn", "unpin"),
        ("verfy", "verify"), ("stat", "status"), ("clean", nil), ("xy", nil), ("", nil),
        ("apps.json", nil), (String(repeating: "list", count: 5_000), nil),
    ])
    func anUnknownCommandIsNamed(_ name: String, _ meant: String?) throws {
        let hint = meant.map { ". Did you mean '\($0)'?" } ?? ""
        let shown = name.count > 40 ? name.prefix(40) + "…" : name
        for arguments in [[name, "apps.json", "--json"], ["help", name], [name]] {
            let finished = try LarderBinary().run(arguments)
            #expect(finished.status == 64, "\(finished)")
            #expect(
                finished.standardError.hasPrefix(
                    "Error: Unknown command '\(shown)'\(hint)\nUsage: "),
                "\(finished)")
        }
    }

    /// Other wrong arguments do not hide the option, and its value is not shown.
    @Test(arguments: [
        (["prefetch", "m", "--remot", "s3://b/secret"], "'--remot'. Did you mean '--remote'?"),
        (["prefetch", "m", "--concurrent", "5"], "'--concurrent'"),
        (["prefetch", "--private-network"], "'--private-network'. Did you mean '--allow-private-"),
        (["prefetch", "m", "--remot=s3://b/secret"], "'--remot'. Did you mean '--remote'?"),
        (["prefetch", "m", "--max-per-host", "0", "--ofline"], "'--ofline'. Did you mean"),
        (["prefetch", "m", "-x", "s3://b/secret"], "'-x'\n"),
        (["prefetch", "m", "-qj3"], "'-qj3'\n"),
        // The parser alone would print the help because of the `h`.
        (["prefetch", "m", "-cache", "secret"], "'-cache'. Did you mean '--cache'?"),
        (["plan", "m", "--remote", "s3://b/secret"], "'--remote': plan does not use a remote\n"),
        (["plan", "m", "--remote-profile", "secret"], "'--remote-profile': plan does not use a "),
        (["plan", "m", "--nosuch", "s3://b/secret"], "'--nosuch'\n"),
        (["remote", "push", "--remot", "s3://b/secret"], "'--remot'. Did you mean '--remote'?"),
        (
            ["remote", "pull", "--remot", "s3://b/secret", "--manifest", "m"],
            "'--remot'. Did you mean"
        ),
        (
            ["remote", "push", "--remote", "s3://bucket/a", "--jso"],
            "'--jso'. Did you mean '--json'?"
        ),
        (["evict", "--only", "ftp://secret", "--\u{1B}[2J"], "'--\\u{1B}[2J'\n"),
    ])
    func anUnknownOptionIsNamed(_ arguments: [String], _ words: String) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64, "\(finished)")
        #expect(
            finished.standardError.hasPrefix("Error: Unknown option \(words)"), "\(finished)")
        #expect(finished.standardError.contains("\nUsage: larder \(arguments[0]) "), "\(finished)")
        #expect(!finished.standardError.contains("secret"), "\(finished)")
    }

    @Test(arguments: [
        ["plan", "--cache", "cache", "--", "--nosuch"], ["pin", "--", "--nosuch"],
        ["evict", "--max-size", "--nosuch"],
    ])
    func valuesAndArgumentsAfterADoubleDashAreNotOptions(_ arguments: [String]) async throws {
        try await withFixture { larder in
            let finished = try larder.binary.run(arguments, directory: larder.directory.path)
            #expect(finished.status != 0, "\(finished)")
            #expect(!finished.standardError.contains("Unknown option"), "\(finished)")
        }
    }

    @Test(arguments: [
        ("pussh", ". Did you mean 'remote push'?"), ("plan", ". Did you mean 'plan'?"),
        ("help", ""),
    ])
    func anUnknownSubcommandIsNamed(_ name: String, _ hint: String) throws {
        let finished = try LarderBinary().run(["remote", name, "--json"])
        #expect(finished.status == 64, "\(finished)")
        #expect(
            finished.standardError.hasPrefix(
                "Error: Unknown command 'remote \(name)'\(hint)\nUsage: "),
            "\(finished)")
    }

    @Test func anUnknownCommandIsEscaped() throws {
        let finished = try LarderBinary().run(["\u{1B}[2Jlist"])
        #expect(finished.standardError.hasPrefix("Error: Unknown command '\\u{1B}[2Jlist'\n"))
    }

    @Test(arguments: [
        ("icons/", "it has no scheme"), ("ftp://example.com/", "it has the scheme 'ftp'"),
        ("http://", "no host"), ("http://me:secret@[::1/", ""),
    ])
    func anInvalidBaseURLIsExplained(_ url: String, _ reason: String) throws {
        let finished = try LarderBinary().run(["prefetch", "apps.json", "--base-url", url])
        #expect(finished.status == 64)
        let complaint = finished.standardError.prefix { $0 != "\n" }
        #expect(complaint.contains("absolute http or https URL: "), "\(finished)")
        #expect(complaint.localizedCaseInsensitiveContains(reason) || reason.isEmpty, "\(finished)")
        #expect(!complaint.contains("(") && !complaint.contains("secret"), "\(finished)")
    }

    @Test(arguments: [
        ["--help"], ["--version"], ["prefetch", "--help"], ["plan", "--help"],
        ["verify", "--help"], ["status", "--help"], ["list", "--help"], ["path", "--help"],
        ["--help"], ["cat", "--help"], ["evict", "--help"], ["pin", "--help"],
        ["unpin", "--help"], ["remote", "--help"], ["remote", "push", "--help"], ["remote"],
    ])
    func helpGoesToStandardOutput(_ arguments: [String]) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 0)
        #expect(!finished.standardOutput.isEmpty)
        #expect(finished.standardError.isEmpty)
    }

    /// Since Linux 5.18, a program that is started without arguments gets one empty argument.
    @Test func anEmptyArgumentListIsAnError() throws {
        let finished = try RunningProcess(
            "/bin/bash", ["-c", #"exec -a "" "$0""#, LarderBinary().path]
        ).wait()
        expectNoArguments(finished)
    }

    @Test(
        .enabled(
            if: Mount.isPossible && access("/usr/bin/unshare", X_OK) == 0,
            "requires root on Linux, and unshare"))
    func aSystemWithoutProcIsAnError() throws {
        let script = #"mount -t tmpfs tmpfs /proc && exec "$0" status"#
        let finished = try RunningProcess(
            "/usr/bin/unshare", ["--mount", "sh", "-c", script, LarderBinary().path]
        ).wait()
        expectNoArguments(finished)
    }

    private func expectNoArguments(_ finished: Finished) {
        #expect(finished.status == 64, "\(finished)")
        #expect(
            finished.standardError.hasPrefix("Error: The system passed no arguments"),
            "\(finished)")
        #expect(finished.standardOutput.isEmpty)
    }

    @Test(arguments: [
        ["prefetch", "apps.json"], ["plan", "apps.json"], ["status"], ["list"], ["verify"],
        ["evict"], ["cat", "http://a/"], ["path", "http://a/"], ["pin", "http://a/"],
        ["unpin", "http://a/"], ["reindex"], ["serve", "--listen", "127.0.0.1:0"],
        ["snapshot", "copy"], ["export", "out", "--layout", "nuke"],
        ["import", "/etc", "--layout", "files", "--manifest", "apps.json"],
    ])
    func aFileInsteadOfACacheIsRefused(_ arguments: [String]) async throws {
        try await withFixture { larder in
            _ = try larder.manifest(larder.origin.url("/a"))
            let file = try larder.write("precious".utf8, to: "file")
            let finished = try larder.binary.run(
                arguments + ["--cache", file], directory: larder.directory.path)
            #expect(finished.status == 1, "\(finished)")
            #expect(
                finished.standardError
                    == "larder: \(file): open: Not a directory; name a directory with --cache\n",
                "\(finished)")
            #expect(finished.standardOutput.isEmpty)
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    @Test(arguments: [
        ["prefetch", "apps.json", "--report"], ["prefetch", "apps.json", "--write-lock"],
        ["status", "--output"], ["serve", "--listen", "127.0.0.1:0", "--access-log"],
        ["serve", "--listen", "127.0.0.1:0", "--missing-list"],
    ])
    func anOutputFileInAMissingDirectoryStopsTheRunAtTheStart(_ arguments: [String]) async throws {
        try await withFixture { larder in
            _ = try larder.manifest(larder.origin.url("/a"))
            mkdir(larder.cache, 0o700)
            let finished = try larder.binary.run(
                arguments + ["nowhere/file", "--cache", larder.cache],
                directory: larder.directory.path)
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains("nowhere/file: the directory "), "\(finished)")
            #expect(
                finished.standardError.hasSuffix("nowhere' does not exist; create it first\n"),
                "\(finished)")
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    @Test func anUnwritableReportStopsTheRun() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/a"))
            let report = larder.directory.path("nowhere/report.jsonl")
            let finished = try larder.run("prefetch", manifest, "--report", report)
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains(report), "\(finished)")
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    @Test(arguments: [("no manifest", Int32(65)), (nil, 66)])
    func aRunThatCannotStartKeepsTheLastReport(_ text: String?, _ status: Int32) async throws {
        try await withFixture { larder in
            if let text { _ = try larder.write(text.utf8, to: "apps.json") }
            let report = try larder.write("last night's".utf8, to: "report.jsonl")
            let run = try larder.run(
                "prefetch", larder.directory.path("apps.json"), "--report", report)
            #expect(run.status == status, "\(run)")
            #expect(try String(contentsOfFile: report, encoding: .utf8) == "last night's")
            // A run without entries empties the report.
            let none = try larder.manifest([], name: "none.json")
            #expect(try larder.run("prefetch", none, "--report", report).status == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: report)).isEmpty)
        }
    }

    @Test func outputFilesNeverReplaceManifestsOrCacheFiles() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let link = larder.directory.path("link")
            #expect(symlink("cache/index.sqlite", link) == 0)
            #expect(symlink(manifest, larder.directory.path("also")) == 0)
            let before = try Data(contentsOf: URL(fileURLWithPath: manifest))
            for report in [
                manifest, larder.directory.path("also"), larder.cache + "/index.sqlite", link,
                larder.cache + "/new",
            ] {
                let run = try larder.run("prefetch", manifest, "--report", report)
                #expect(run.status == 64, "\(run)")
                #expect(run.standardError.hasPrefix("larder: --report would "), "\(run)")
                #expect(!run.standardError.contains("Usage:"), "\(run)")
                guard report.hasPrefix(larder.cache) else { continue }
                let status = try larder.run("status", "--output", report)
                #expect(status.status == 64, "\(status)")
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: manifest)) == before)
            #expect(!FileManager.default.fileExists(atPath: larder.cache + "/new"))
            #expect(try larder.verify() == 0)
        }
    }

    @Test func aDashNamesStandardOutput() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            let run = try larder.run(
                "prefetch", manifest, "--report", "-", "--allow-private-network")
            #expect(run.status == 0, "\(run)")
            #expect(try JSONValue.lines(run.standardOutputBytes).count == 2)
            #expect(run.standardError.contains("2 entries: fetched 2"), "\(run)")
            let status = try larder.run("status", "--json", "--output", "-")
            #expect(try JSONValue.lines(status.standardOutputBytes).count == 1)
        }
    }
}
