import Foundation
import LarderTestSupport
import Testing

@testable import larder

/// The configuration file: its location, the meaning of its lines, and their precedence.
@Suite struct ConfigTests {
    // MARK: Lines

    private func path(
        _ larder: CLIFixture, _ text: some Sequence<UInt8>
    ) throws -> [String: String] {
        ["LARDER_CONFIG_PATH": try larder.write(text, to: "larder.conf")]
    }

    @Test func aLineAppliesToEveryCommandThatHasItsOption() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.manifest(url)
            // `cat` has only the cache.
            let file = try path(
                larder, "# A comment\n\n\t--cache \(larder.cache)\n--allow-private-network\r\n".utf8
            )
            let prefetch = try larder.binary.run(["prefetch", manifest], environment: file)
            #expect(prefetch.status == 0, "\(prefetch)")
            let cat = try larder.binary.run(["cat", url], environment: file)
            #expect(Array(cat.standardOutputBytes) == Icons.icon(0), "\(cat)")
        }
    }

    @Test func aSectionAppliesToOneCommand() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let text = "--allow-private-network\n[evict]\n--max-count=0\n[remote push]\n--json\n"
            let file = try path(larder, text.utf8)
            #expect(
                try larder.run(arguments: ["prefetch", manifest], environment: file).status == 0)
            #expect(try larder.status().objects == 1)
            let evict = try larder.run(arguments: ["evict"], environment: file)
            #expect(evict.status == 0 && !evict.standardOutput.hasPrefix("{"), "\(evict)")
            #expect(try larder.status().objects == 0)
        }
    }

    @Test(
        arguments: [
            ("--user-agent=my agent/1 ", "my agent/1"), ("--user-agent my agent/1", "my agent/1"),
            ("--user-agent = a=b", "a=b"), ("--user-agent='a'", "'a'"), ("--user-agent=", ""),
            ("\u{FEFF}--user-agent=a", "a"),
        ])
    func theRestOfALineIsTheValueWithoutQuotes(_ line: String, _ value: String) throws {
        let command = NamedCommand.program.find(["prefetch"]).command
        let file = try ConfigFile("larder.conf", Array(line.utf8), for: command)
        #expect(file.lines.map(\.value) == [value])
    }

    @Test(arguments: [
        ("\n--max-concurent=8", 2, "Did you mean '--max-concurrent'?"),
        ("max-concurrent=8", 1, "'max-concurrent' is not a long option"),
        ("-j 8", 1, "'-j' is not a long option"), ("apps.json", 1, "not a long option"),
        ("--max-concurrent", 1, "needs a value"), ("--quiet=yes", 1, "takes no value"),
        ("[evict]\n--proxy=x", 2, "'evict' does not have the option '--proxy'"),
        ("[remote]", 1, "unknown command 'remote'"), ("[verfy]", 1, "Did you mean 'verify'?"),
        ("[verify", 1, "in brackets"), ("--help", 1, "belongs on the command line"),
        ("--version", 1, "belongs on the command line"),
        ("--no-config", 1, "belongs on the command line"),
        ("--user-agent=a\u{1B}b", 1, "control character"),
        ("--user-agent=a\rb", 1, "control character"),
    ])
    func aWrongLineEndsEveryCommandWithItsPlace(
        _ text: String, _ line: Int, _ reason: String
    ) async throws {
        try await withFixture { larder in
            let file = try path(larder, text.utf8)
            for arguments in [["status"], ["config"], ["prefetch", "apps.json"]] {
                let finished = try larder.binary.run(arguments, environment: file)
                #expect(finished.status == 64, "\(finished)")
                let place = "Error: \(larder.directory.path("larder.conf")):\(line): "
                #expect(finished.standardError.hasPrefix(place), "\(finished)")
                #expect(finished.standardError.contains(reason), "\(finished)")
            }
        }
    }

    @Test(arguments: ["--j=4", "--q", "--x=1", "--=x", "--"])
    func anOptionWithoutASimilarNameGetsNoSuggestion(_ line: String) async throws {
        try await withFixture { larder in
            let file = try larder.binary.run(["status"], environment: path(larder, line.utf8))
            let given = try larder.binary.run(["prefetch", "m", line])
            for finished in [file, given] {
                #expect(finished.status != 0, "\(finished)")
                #expect(!finished.standardError.contains("Did you mean"), "\(finished)")
            }
            let name = line.prefix { $0 != "=" }
            #expect(file.standardError.contains("unknown option '\(name)'"), "\(file)")
        }
    }

    @Test func messagesDoNotQuoteValues() async throws {
        try await withFixture { larder in
            for line in [
                "header=sEcReT", "--heder=sEcReT", "--quiet sEcReT", "[evict]\n--header=sEcReT",
            ] {
                let finished = try larder.binary.run(
                    ["status"], environment: path(larder, line.utf8))
                #expect(finished.status == 64, "\(finished)")
                #expect(!finished.standardError.contains("sEcReT"), "\(finished)")
            }
        }
    }

    @Test func theSizeAndTheLinesOfTheFileAreLimited() async throws {
        try await withFixture { larder in
            func bytes(_ character: Character, _ count: Int) -> [UInt8] {
                Array(String(repeating: character, count: count).utf8)
            }
            let cases: [([UInt8], Int32)] = [
                (bytes("#", 64 << 10), 0), (bytes("#", 64 << 10 + 1), 64),
                (bytes("\n", 1_000), 0), (bytes("\n", 1_001), 64),
                (Array("--user-agent=".utf8) + [0xFF], 64),
            ]
            for (text, status) in cases {
                let finished = try larder.binary.run(
                    ["config"], environment: path(larder, text))
                #expect(finished.status == status, "\(text.count) bytes: \(finished)")
            }
        }
    }

    // MARK: Location

    @Test func aNamedFileMustBeReadable() async throws {
        try await withFixture { larder in
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            for path in [larder.directory.path("missing.conf"), larder.directory.path, pipe] {
                let finished = try larder.binary.run(
                    ["config"], environment: ["LARDER_CONFIG_PATH": path])
                #expect(finished.status == 66, "\(finished)")
                #expect(finished.standardError.hasPrefix("Error: \(path): "), "\(finished)")
                #expect(finished.standardError.contains("--no-config"), "\(finished)")
            }
        }
    }

    @Test func theVariableMayNameADeviceOrAFileInTheHomeDirectory() async throws {
        try await withFixture { larder in
            let file = try larder.write("--quiet\n".utf8, to: "own.conf")
            for (value, path) in [("/dev/null", "/dev/null"), ("~/own.conf", file)] {
                let finished = try larder.binary.run(
                    ["config"],
                    environment: ["HOME": larder.directory.path, "LARDER_CONFIG_PATH": value])
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.standardOutput.hasPrefix("file: \(path)\n"), "\(finished)")
            }
        }
    }

    @Test func aDefaultFileThatIsALinkToAMissingFileIsAnError() async throws {
        try await withFixture { larder in
            let path = larder.directory.path("larder.conf")
            #expect(symlink("missing.conf", path) == 0)
            // The tests set the variable for all their processes.
            let words = ["-u", "LARDER_CONFIG_PATH", larder.binary.path, "config"]
            let environment = ["XDG_CONFIG_HOME": larder.directory.path]
            let finished = try RunningProcess("/usr/bin/env", words, environment: environment)
                .wait()
            #expect(finished.status == 66, "\(finished)")
            #expect(finished.standardError.hasPrefix("Error: \(path): "), "\(finished)")
        }
    }

    @Test func theDefaultFileIsInTheConfigurationDirectory() async throws {
        try await withFixture { larder in
            func file(_ environment: [String: String]) throws -> String? {
                // The tests set the variable for all their processes.
                let words = ["-u", "LARDER_CONFIG_PATH", larder.binary.path, "config", "--json"]
                let finished = try RunningProcess("/usr/bin/env", words, environment: environment)
                    .wait()
                #expect(finished.status == 0, "\(finished)")
                return try JSONValue.lines(finished.standardOutputBytes).first?["path"]?.string
            }
            let home = ["HOME": larder.directory.path]
            #expect(try file(home) == nil)
            mkdir(larder.directory.path(".config"), 0o755)
            let standard = try larder.write("".utf8, to: ".config/larder.conf")
            #expect(try file(home) == standard)
            // XDG Base Directory Specification: relative paths are invalid.
            #expect(try file(home.merging(["XDG_CONFIG_HOME": "x"]) { $1 }) == standard)
            mkdir(larder.directory.path("own"), 0o755)
            let own = home.merging(["XDG_CONFIG_HOME": larder.directory.path("own")]) { $1 }
            #expect(try file(own) == nil)
            let named = try larder.write("".utf8, to: "own/larder.conf")
            #expect(try file(own) == named)
            let other = try larder.write("".utf8, to: "other.conf")
            let variable = "LARDER_CONFIG_PATH"
            let cases: [(String, String?)] = [(other, other), ("", nil)]
            for (value, path) in cases {
                let finished = try larder.binary.run(
                    ["config", "--json"], environment: own.merging([variable: value]) { $1 })
                let summary = try JSONValue.lines(finished.standardOutputBytes).first
                #expect(summary?["path"]?.string == path, "\(finished)")
            }
        }
    }

    @Test func noConfigIgnoresTheFileAtAnyPlace() async throws {
        try await withFixture { larder in
            let file = try path(larder, "wrong".utf8)
            for arguments in [
                ["--no-config", "config"], ["config", "--no-config"],
                ["config", "remote", "push", "--no-config"], ["--no-config", "pin"],
                ["remote", "--no-config", "push"],
            ] {
                let finished = try larder.binary.run(arguments, environment: file)
                #expect(!finished.standardError.contains("larder.conf"), "\(finished)")
                #expect(!finished.standardError.contains("--no-config'"), "\(finished)")
            }
            // After `--`, it is an argument.
            let finished = try larder.binary.run(["path", "--", "--no-config"], environment: file)
            #expect(finished.status == 64, "\(finished)")
        }
    }

    @Test(arguments: [
        ["--version"], ["--help"], ["help", "evict"], ["evict", "--help-all"], ["remote"],
        ["--generate-completion-script", "bash"], ["--experimental-dump-help"],
    ])
    func helpDoesNotReadTheFile(_ arguments: [String]) async throws {
        try await withFixture { larder in
            let finished = try larder.binary.run(
                arguments, environment: path(larder, "wrong".utf8))
            #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
        }
    }

    // MARK: Precedence

    @Test(arguments: [["--max-concurrent", "4"], ["-j4"], ["-qj", "4"], ["--max-concurrent=4"]])
    func theCommandLineReplacesALine(_ options: [String]) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let file = try path(larder, "--allow-private-network\n--max-concurrent=0\n".utf8)
            let words = ["prefetch", manifest]
            let wrong = try larder.run(arguments: words, environment: file)
            #expect(wrong.status == 64, "\(wrong)")
            let place = "\n\(larder.directory.path("larder.conf")):2 has --max-concurrent.\nUsage: "
            #expect(wrong.standardError.contains(place), "\(wrong)")
            let right = try larder.run(arguments: words + options, environment: file)
            #expect(right.status == 0, "\(right)")
        }
    }

    @Test func theCommandLineReplacesAllLinesOfARepeatableOption() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let file = try path(
                larder, "--allow-host=other.example\n--allow-host=127.0.0.1\n".utf8)
            let words = ["prefetch", manifest]
            let replaced = words + ["--allow-host", "own.example"]
            #expect(try larder.run(arguments: replaced, environment: file).status == 2)
            #expect(try larder.run(arguments: words, environment: file).status == 0)
        }
    }

    private func used(
        _ text: String, in words: String, environment: [String: String] = [:]
    ) throws -> [String] {
        let (command, rest) = NamedCommand.program.find(
            words.split(separator: " ").map(String.init))
        var file = try ConfigFile("larder.conf", Array(text.utf8), for: command)
        _ = file.parse(rest, of: command, environment: environment)
        return file.used.map(\.argument)
    }

    /// A line must not make a valid command line an error.
    @Test(arguments: [
        ("--server=http://a.example/", "localize m --icons d"),
        ("--server=http://a.example/", "localize m --data"), ("--data", "localize m --icons d"),
        ("[localize]\n--icons=d", "localize m --data"), ("--output=f", "localize m --in-place"),
        ("--in-place", "localize m --output f"), ("--in-place", "localize - --data"),
        ("--json", "localize m --icons d"), ("--max-data=8KiB", "localize m --icons d"),
        ("--write-lock=-", "prefetch m --offline --json"), ("--json", "prefetch m --write-lock -"),
        ("--report=-", "prefetch m --write-lock -"), ("--write-lock=f", "prefetch m --report f"),
        ("--quiet", "prefetch m --verbose"), ("--wait=5m", "prefetch m --no-wait"),
        ("--no-wait", "evict --wait 5m"), ("--format=prometheus", "status --json"),
        ("--revalidate=never", "prefetch m --force"), ("--force", "prefetch m --offline"),
        ("--shard=0/2", "prefetch m --write-lock f"), ("--split-host=a=2", "prefetch m"),
        ("--client-key=k", "prefetch m"), ("--by=fetched", "evict"), ("--all", "unpin key:a"),
        ("--seed=4", "verify"), ("--seed=4", "verify --sample 1/3"),
        ("--sample=5%", "verify --max-duration 1h"), ("--sample=5%", "verify --manifest m"),
        ("--max-duration=1h", "verify --sample 5%"), ("--manifest=m", "verify --sample 5%"),
        ("--kingfisher-version=7", "export o --layout files"),
        ("--folder=f", "export o --layout files"), ("--installer=f", "export o --layout files"),
        ("--icons=first", "export o --layout files"),
    ])
    func aLineThatACommandLineCannotHaveIsIgnored(_ text: String, _ words: String) throws {
        #expect(try isValid("", in: words))
        #expect(try isValid(text, in: words))
        #expect(try used(text + "\n--cache=c", in: words) == ["--cache=c"])
    }

    /// The parser accepts every combination after it has ignored lines, or reports a wrong value.
    @Test(
        arguments: NamedCommand.program.descendants.filter { !$0.isGroup }.map(\.name))
    func aFileMayHaveAllOptionsOfACommand(_ name: String) throws {
        let words = name.split(separator: " ").map(String.init)
        let options = NamedCommand.program.find(words).command.options
        let values = [
            "--allow-origin": "*", "--base-url": "http://a.example", "--by": "used",
            "--color": "never", "--connect-to": "a:1:b:2", "--fallback-status": "404",
            "--fail-on": "missing", "--format": "json", "--header": "A: b", "--icons": "all",
            "--icon-set": "mdi=http://a.example/{name}", "--icon-template": "{id}",
            "--ipfs-gateway": "http://a.example", "--layout": "kingfisher",
            "--listen": "127.0.0.1:1", "--log-level": "info", "--missing": "keep",
            "--proxy": "http://a.example", "--public-url": "http://a.example",
            "--remote": "s3://bucket", "--remote-endpoint": "http://a.example",
            "--resolve": "a:1:127.0.0.1", "--revalidate": "always", "--sample": "1/3",
            "--server": "http://a.example", "--shard": "0/2", "--split-host": "a=2",
            "--max-per-host": "2",
        ]
        let lines = options.keys.sorted().filter {
            $0.hasPrefix("--")
                && !["--help", "--help-all", "--version", "--no-config"].contains($0)
        }.map { options[$0]?.takesValue == true ? "\($0)=\(values[$0] ?? "1")" : $0 }
        for lines in [lines, lines.reversed()] {
            let text = lines.joined(separator: "\n")
            let isValid = try isValid(text, in: name) || isValid(text, in: name + " x")
            #expect(isValid, "\(lines)")
        }
    }

    @Test func aWrongValueIsNotIgnored() throws {
        for (text, words) in [
            ("--max-concurrent=0", "prefetch m"), ("--max-size=2 GB", "evict"),
            ("--split-host=a=8", "prefetch m --shard 0/2 --max-per-host 4"),
        ] {
            #expect(try isValid("", in: words))
            #expect(try !isValid(text, in: words))
            #expect(try used(text, in: words).count == 1)
        }
    }

    private func isValid(_ text: String, in words: String) throws -> Bool {
        let (command, rest) = NamedCommand.program.find(
            words.split(separator: " ").map(String.init))
        var file = try ConfigFile("larder.conf", Array(text.utf8), for: command)
        if case .success = file.parse(rest, of: command, environment: [:]) { return true }
        return false
    }

    @Test func anOptionReplacesItsOpposite() throws {
        for (first, second) in ConfigFile.opposites {
            let having = NamedCommand.program.descendants.filter {
                $0.options[first] != nil && $0.options[second] != nil
            }
            #expect(!having.isEmpty, "\(first) \(second)")
            for command in having {
                for (given, line) in [(first, second), (second, first)] {
                    let options = command.options
                    let own = options[given]?.takesValue == true ? "\(given)=1" : given
                    let text = options[line]?.takesValue == true ? "\(line)=1" : line
                    // The last line can always be used.
                    let used = try used(
                        "\(text)\n--cache=c\n", in: "\(command.name) \(own)")
                    #expect(used == ["--cache=c"], "\(command.name) \(own)")
                }
            }
        }
    }

    @Test func aSectionReplacesLinesForAllCommands() throws {
        let text = """
            --header=a: 1
            --wait=5m
            --max-size=1
            [prefetch]
            --header=b: 2
            --header=c: 3
            --no-wait
            """
        #expect(
            try used(text, in: "prefetch m") == ["--header=b: 2", "--header=c: 3", "--no-wait"])
        #expect(try used(text, in: "prefetch m --header=D:d") == ["--no-wait"])
        #expect(try used(text, in: "evict") == ["--wait=5m", "--max-size=1"])
    }

    @Test func theLastOfContradictingLinesCounts() throws {
        let waits = "--no-wait\n--wait=5m\n"
        #expect(try used(waits, in: "evict") == ["--wait=5m"])
        #expect(try used(waits + "--no-wait", in: "evict") == ["--no-wait", "--no-wait"])
        let manifests = "[verify]\n--manifest=a\n--sample=5%\n--manifest=b"
        #expect(try used(manifests, in: "verify") == ["--manifest=a", "--manifest=b"])
        // The parser accepts these together.
        for (first, second) in [("--netrc", "--netrc-file=f"), ("--netrc-file=f", "--netrc")] {
            #expect(try used("\(first)\n\(second)", in: "prefetch m") == [second])
            #expect(try used("\(first)\n[prefetch]\n\(second)", in: "prefetch m") == [second])
        }
    }

    /// A line for other commands, or for other uses of a command, must not be an error.
    @Test func anOptionWithoutTheOptionThatItNeedsIsIgnored() throws {
        #expect(try used("--remote-region=eu", in: "prefetch m").isEmpty)
        #expect(try used("--remote-region=eu", in: "prefetch m --remote s3://abc").count == 1)
        let both = "--remote=s3://abc\n--remote-region=eu"
        #expect(try used(both, in: "prefetch m").count == 2)
        #expect(try used(both, in: "prefetch m --offline").isEmpty)
        #expect(try used("--base-url=http://a", in: "verify").isEmpty)
        #expect(try used("--base-url=http://a", in: "verify --manifest m").count == 1)
        #expect(try used("--base-url=http://a", in: "prefetch m").count == 1)
        #expect(try used("--by=fetched", in: "evict").isEmpty)
        #expect(try used("--by=fetched", in: "evict --max-age 1d").count == 1)
    }

    @Test func theVariableOfTheCacheReplacesALine() throws {
        let variable = ["LARDER_CACHE": "other"]
        #expect(try used("--cache=c", in: "status") == ["--cache=c"])
        #expect(try used("--cache=c", in: "status", environment: variable).isEmpty)
    }

    @Test func suggestedCommandsGetTheSameOptions() throws {
        func suggested(_ text: String, _ run: String, _ words: String) throws -> String {
            let arguments = run.split(separator: " ").map(String.init)
            let (command, rest) = NamedCommand.program.find(arguments)
            var file = try ConfigFile("larder.conf", Array(text.utf8), for: command)
            file.used = file.lines(for: command, besides: rest, environment: [:])
            return OptionsInUse.text(
                for: words, in: ["larder"] + arguments, file: file, environment: [:])
        }
        let text = "--netrc\n[prefetch]\n--cache=c\n--allow-private-network"
        // The first option applies to both commands, and the other options only to prefetch.
        #expect(
            try suggested(text, "prefetch m", "verify --repair")
                == " --cache c --allow-private-network")
        #expect(try suggested(text, "prefetch m", "prefetch m --retry-failed").isEmpty)
        // The suggested command's own section has another cache.
        let own = "[verify]\n--cache=v\n"
        #expect(try suggested("--cache=c\n" + own, "status", "verify --repair") == " --cache c")
        #expect(
            try suggested(own, "status", "verify --repair")
                == " " + .shellOption("--cache", CacheOptions.defaultPath))
        #expect(try suggested(own, "verify", "verify --repair").isEmpty)
        #expect(
            OptionsInUse.text(
                for: "reindex", in: ["larder", "verify", "--no-config"], file: nil, environment: [:]
            )
                == " --no-config")
    }

    // MARK: larder config

    @Test func configShowsEachLineWithItsCommands() async throws {
        try await withFixture { larder in
            let text = "--max-size=2GB\n--header=X-Key: sEcReT\n[remote push]\n--header=Y: sEcReT\n"
            let unset = ConfigSummary.variables.flatMap { $1 }.map { ($0, "") }
            let environment = try path(larder, text.utf8).merging(unset) { $1 }
            let finished = try larder.binary.run(["config"], environment: environment)
            #expect(finished.status == 0, "\(finished)")
            #expect(
                finished.standardOutput == """
                    file: \(larder.directory.path("larder.conf"))
                    line 1  --max-size=2GB  evict
                    line 2  --header=…      prefetch, plan, verify, localize, remote pull
                    line 4  --header=…      remote push

                    """)
        }
    }

    @Test func configShowsTheOptionsOfACommandAndTheirSources() async throws {
        try await withFixture { larder in
            let environment = try path(larder, "--max-concurrent=8\n--cache=c\n".utf8).merging([
                "LARDER_CACHE": "/srv/icons", "https_proxy": "http://me:sEcReT@proxy.example",
                "CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "/own.pem",
            ]) { $1 }
            let finished = try larder.binary.run(["config", "verify"], environment: environment)
            #expect(
                finished.standardOutput.split(separator: "\n").dropFirst() == [
                    "line 1          --max-concurrent=8", "$LARDER_CACHE   --cache=/srv/icons",
                    "$https_proxy    --proxy=…", "$SSL_CERT_FILE  --ca-cert=/own.pem",
                ], "\(finished)")
        }
    }

    @Test func configOmitsLinesWithoutEffect() async throws {
        try await withFixture { larder in
            let text = "--cache=c\n--cache=g\n--remote-region=eu\n--allow-host=a\n--allow-host=b\n"
            let unset = ConfigSummary.variables.flatMap { $1 }.map { ($0, "") }
            let environment = try path(larder, text.utf8).merging(unset) { $1 }
            let prefetch = try larder.binary.run(["config", "prefetch"], environment: environment)
            #expect(
                prefetch.standardOutput.split(separator: "\n").dropFirst() == [
                    "line 2  --cache=g", "line 4  --allow-host=a", "line 5  --allow-host=b",
                ], "\(prefetch)")
            let all = try larder.binary.run(
                ["config"], environment: environment.merging(["LARDER_CACHE": "/srv/icons"]) { $1 })
            let sources = all.standardOutput.split(separator: "\n").dropFirst().map {
                $0.split(separator: " ").prefix($0.hasPrefix("$") ? 1 : 2).joined(separator: " ")
            }
            #expect(sources == ["line 3", "line 4", "line 5", "$LARDER_CACHE"], "\(all)")
            // The remote commands always have --remote, and localize may have it.
            let region = /line 3 +--remote-region=eu +localize, (remote \w+(, )?){4}\n/
            #expect(all.standardOutput.contains(region), "\(all)")
            #expect(all.standardOutput.contains("--cache=/srv/icons"), "\(all)")
        }
    }

    @Test func configSaysWhyNoFileIsUsed() async throws {
        try await withFixture { larder in
            let empty = try larder.binary.run(["config"], environment: ["LARDER_CONFIG_PATH": ""])
            let line = "file: none (LARDER_CONFIG_PATH is empty)"
            #expect(empty.standardOutput.hasPrefix(line), "\(empty)")
            let disabled = try larder.binary.run(
                ["config", "--no-config"], environment: path(larder, "".utf8))
            #expect(disabled.standardOutput.hasPrefix("file: none (--no-config)"), "\(disabled)")
        }
    }

    @Test(arguments: [["remote"], ["evict", "extra"], ["nonsuch"]])
    func configRefusesOtherNames(_ words: [String]) throws {
        let finished = try LarderBinary().run(["config"] + words)
        #expect(finished.status == 64, "\(finished)")
        #expect(finished.standardError.contains("'\(words[0])"), "\(finished)")
    }
}
