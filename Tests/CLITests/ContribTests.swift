import Foundation
import LarderTestSupport
import Testing

/// The files in `contrib`, whose command lines must run and whose units systemd must accept.
@Suite struct ContribTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../contrib").standardizedFileURL

    private func text(_ file: String) throws -> String {
        try String(contentsOf: Self.folder.appendingPathComponent(file), encoding: .utf8)
    }

    private func lines(_ file: String) throws -> [String] {
        try text(file).split(separator: "\n").map(String.init)
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    // MARK: Command lines

    /// The file is the one place for limits, proxies and private networks.
    @Test(arguments: ["larder.service", "larder-serve.service", "crontab", "larder.plist"])
    func theNightlyRunsAndTheServerReadTheConfigurationFile(_ name: String) throws {
        let lines = try lines(name).map { $0.split(separator: " ").last.map(String.init) ?? $0 }
        let path = "LARDER_CONFIG_PATH=/etc/larder/larder.conf"
        #expect(lines.contains { [path, "Environment=\(path)"].contains($0) })
    }

    @Test func theConfigurationFileHasValidOptionsAndExamples() async throws {
        try await withFixture { larder in
            // The examples are comments.
            let text = try text("larder.conf").replacing("\n#--", with: "\n--")
            let file = try larder.write(text.utf8, to: "larder.conf")
            let finished = try larder.binary.run(
                ["config"], environment: ["LARDER_CONFIG_PATH": file])
            #expect(finished.status == 0, "\(finished)")
            for option in ["--allow-host=", "--proxy=", "--limit-rate=", "--max-size="] {
                #expect(finished.standardOutput.contains("  \(option)"), "\(finished)")
            }
        }
    }

    @Test func theCommandsOfTheServiceRun() async throws {
        let commands = try lines("larder.service").compactMap { line -> String? in
            guard line.hasPrefix("Exec") else { return nil }
            return String(line.drop { $0 != "=" }.dropFirst().drop { $0 == "-" })
        }
        #expect(commands.count == 4)
        try await run(commands)
    }

    /// In the unit, objects are read-only for the server.
    @Test(.enabled(if: Mount.isPossible, "mounting needs root on Linux"))
    func theServerRunsWithReadOnlyObjects() async throws {
        let start = try #require(
            try lines("larder-serve.service").first { $0.hasPrefix("ExecStart=") })
        let words = start.split(separator: " ").map(String.init)
        #expect(words.prefix(2) == ["ExecStart=/usr/local/bin/larder", "serve"])
        #expect(try lines("larder-serve.service").contains("ReadOnlyPaths=-%C/larder/objects"))
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            let objects = larder.cache + "/objects"
            let mount = try Mount.readOnly(objects, at: objects)
            defer { mount.remove() }
            let options = words.dropFirst(2).map {
                $0.replacingOccurrences(of: "/etc/larder/apps.json", with: manifest)
            }
            let serve = try ServeRun(larder, options)
            let client = try serve.client()
            #expect(try client.get("/manifest/apps.json").status == 200)
            for (number, url) in urls.enumerated() {
                #expect(try client.get("/icon?url=\(url)").body == Icons.icon(number))
            }
            let finished = try serve.stop()
            #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
        }
    }

    /// Runs each line as often as cron does in a day. Like cron, passes only a few variables.
    @Test func theCrontabPrintsNothingForADay() async throws {
        try await withFixture { larder in
            let folder = larder.directory.path
            _ = try larder.manifest(urls: larder.origin.serveIcons(3))
            // The crontab asks for this directory.
            mkdir(larder.cache, 0o700)
            mkdir("\(folder)/bin", 0o700)
            // Adds an option that only this test needs.
            let program = """
                #!/bin/sh
                case $1 in prefetch | verify) set -- "$@" --allow-private-network ;; esac
                exec '\(larder.binary.path)' "$@"
                """
            try writeProgram(program, to: "\(folder)/bin/larder")
            func local(_ text: String) -> String {
                text.replacingOccurrences(of: "/etc/larder", with: folder)
                    .replacingOccurrences(of: "/var/cache/larder", with: larder.cache)
                    .replacingOccurrences(of: "/var/lib/prometheus/node-exporter", with: folder)
                    .replacingOccurrences(of: "/usr/local/bin", with: "\(folder)/bin")
            }
            for file in try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
            where file.hasSuffix(".conf") {
                _ = try larder.write(local(text(file)).utf8, to: file)
            }
            var environment = ["HOME": folder, "PATH": "\(folder)/bin:/usr/bin:/bin"]
            var runs: [(minute: Int, command: String)] = []
            for line in try lines("crontab").map(local) {
                let fields = line.split(separator: " ", maxSplits: 5).map(String.init)
                guard fields.count == 6 else {
                    let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
                    try #require(parts.count == 2, "\(line)")
                    environment[parts[0]] = parts[1]
                    continue
                }
                #expect(fields[2...4].allSatisfy { $0 == "*" }, "\(line)")
                for hour in try times(fields[1], below: 24) {
                    for minute in try times(fields[0], below: 60) {
                        let command = fields[5].trimmingCharacters(in: .whitespaces)
                        runs.append((60 * hour + minute, command))
                    }
                }
            }
            for (_, command) in runs.sorted(by: { $0.minute < $1.minute }) {
                let finished = try RunningProcess(
                    "/usr/bin/env",
                    ["-i"] + environment.map { "\($0)=\($1)" } + ["/bin/sh", "-c", command],
                    directory: folder
                ).wait()
                #expect(finished.status == 0, "\(finished)")
                #expect(
                    finished.standardOutput.isEmpty && finished.standardError.isEmpty,
                    "\(command)\n\(finished)")
            }
            let text = try String(contentsOfFile: "\(folder)/larder.prom", encoding: .utf8)
            let metrics = try Exposition(text)
            #expect(metrics.value("larder_objects") == 3)
            for command in ["prefetch", "verify", "evict"] {
                let status = metrics.value("larder_last_run_exit_status", command: command)
                #expect(status == 0, "\(command)")
            }
        }
    }

    /// Returns the numbers of a field such as `17`, `*` or `*/10` (crontab(5)).
    private func times(_ field: String, below limit: Int) throws -> [Int] {
        if let number = Int(field) { return [number] }
        let step = field == "*" ? 1 : Int(field.dropFirst(2))
        return Array(stride(from: 0, to: limit, by: try #require(step, "\(field)")))
    }

    @Test func theCrontabPrintsNothingWithoutTheDirectoryOfTheMetrics() throws {
        let line = try #require(try crontabCommands().last)
        try withTemporaryDirectory { directory in
            // A program that prints a word, in an environment like that of cron.
            let cron = """
                printf '#!/bin/sh\\necho run\\n' > "$0/larder" && chmod +x "$0/larder"
                exec env -i PATH="$0:/usr/bin:/bin" /bin/sh -c "$1"
                """
            let outputs: [(metrics: String, output: String)] = [
                (directory.path("missing"), ""), (directory.path, "run\n"),
            ]
            for (metrics, output) in outputs {
                let command = line.replacingOccurrences(
                    of: "/var/lib/prometheus/node-exporter", with: metrics)
                let finished = try RunningProcess("/bin/sh", ["-c", cron, directory.path, command])
                    .wait()
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.standardOutput == output && finished.standardError.isEmpty)
            }
        }
    }

    private func crontabCommands() throws -> [String] {
        try lines("crontab").compactMap { line -> String? in
            let fields = line.split(separator: " ", maxSplits: 5)
            // Shorter lines set variables. A percent sign would end the command (crontab(5)).
            guard fields.count == 6 else { return nil }
            #expect(!line.contains("%"))
            return fields[5].trimmingCharacters(in: .whitespaces)
        }
    }

    @Test func theCommandsOfTheLaunchAgentRun() async throws {
        let agent = try launchAgent()
        #expect(agent["Label"] as? String == "larder")
        #expect((agent["StartCalendarInterval"] as? [String: Int])?["Hour"] == 2)
        let commands = try agentScript(agent).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("/usr/local/bin/larder ") }
        #expect(commands.count == 3)
        try await run(commands)
    }

    private func launchAgent() throws -> [String: Any] {
        let data = try Data(
            contentsOf: Self.folder.appendingPathComponent("larder.plist"))
        return try #require(
            try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
    }

    private func agentScript(_ agent: [String: Any]) throws -> String {
        let arguments = try #require(agent["ProgramArguments"] as? [String])
        #expect(arguments.count == 3 && arguments.prefix(2) == ["/bin/sh", "-c"])
        return try #require(arguments.last)
    }

    // MARK: Failing commands

    /// The eviction frees space, so it must run even if the prefetch or the verification fails.
    @Test(arguments: [1, 2, 64, 65, 66, 74, 75, 130, 143])
    func aFailingCommandDoesNotStopTheNextOne(_ status: Int32) throws {
        #expect(try commandsRun(ending: status) == ["prefetch", "verify", "evict"])
        try withTemporaryDirectory { directory in
            // A program that only logs its first argument.
            let program = directory.path("larder")
            let text = "#!/bin/sh\necho $1 >> \(directory.path("log"))\nexit \(status)\n"
            try writeProgram(text, to: program)
            let script = try agentScript(launchAgent())
                .replacingOccurrences(of: "/usr/local/bin/larder", with: program)
                .replacingOccurrences(of: "$HOME/Library/Logs", with: directory.path)
            _ = try RunningProcess("/bin/sh", ["-c", script]).wait()
            let log = try String(contentsOfFile: directory.path("log"), encoding: .utf8)
            #expect(log == "prefetch\nverify\nevict\n")
        }
    }

    /// Returns the commands of the unit that systemd runs if each of them exits with `status`. A
    /// failed command ends the unit unless it has a dash before it (systemd.service(5),
    /// "ExecStart=").
    private func commandsRun(ending status: Int32) throws -> [String] {
        let lines = try lines("larder.service")
        let good = try #require(lines.first { $0.hasPrefix("SuccessExitStatus=") })
            .drop { $0 != "=" }.dropFirst().split(separator: " ")
        var run: [String] = []
        for line in lines where line.hasPrefix("ExecStart=") {
            let command = line.dropFirst("ExecStart=".count)
            run.append(String(command.split(separator: " ")[1]))
            if !command.hasPrefix("-"), !good.contains("\(status)") { break }
        }
        return run
    }

    /// Runs command lines with a new cache. All of them must succeed without output.
    private func run(_ commands: [String]) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            for command in commands {
                let words = command.split(separator: " ").map(String.init)
                #expect(words.first?.hasSuffix("larder") == true, "\(command)")
                var arguments = words.dropFirst().map {
                    $0.replacingOccurrences(of: "/etc/larder/apps.json", with: manifest)
                        .replacingOccurrences(
                            of: "/var/lib/prometheus/node-exporter", with: larder.directory.path)
                }
                if ["prefetch", "verify"].contains(arguments.first) {
                    arguments.append("--allow-private-network")
                }
                let finished = try larder.binary.run(
                    Array(arguments),
                    environment: [
                        "LARDER_CACHE": larder.cache,
                        "LARDER_CONFIG_PATH": Self.folder.appendingPathComponent("larder.conf")
                            .path,
                    ])
                #expect(finished.status == 0, "\(command)\n\(finished)")
                #expect(finished.standardOutput.isEmpty && finished.standardError.isEmpty)
            }
            let finished = try larder.run("status", "--format", "prometheus")
            let metrics = try Exposition(finished.standardOutput)
            #expect(metrics.value("larder_objects") == 3)
            for command in ["prefetch", "verify", "evict"] {
                let status = metrics.value("larder_last_run_exit_status", command: command)
                #expect(status == 0, "\(command)")
            }
            let file = larder.directory.path("larder.prom")
            if commands.contains(where: { $0.contains("prometheus") }) {
                _ = try Exposition(String(contentsOfFile: file, encoding: .utf8))
            }
        }
    }

    // MARK: Units

    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze"),
            "systemd-analyze is not installed"))
    func systemdAcceptsTheUnits() async throws {
        try await withFixture { larder in
            let names = ["larder.service", "larder.timer", "larder-serve.service"]
            for name in names {
                // systemd-analyze checks that the program exists.
                let unit = try text(name).replacingOccurrences(
                    of: "/usr/local/bin/larder", with: larder.binary.path)
                _ = try larder.write(unit.utf8, to: name)
            }
            let units = names.map { larder.directory.path($0) }
            let finished = try RunningProcess(Self.analyzer, ["verify", "--man=no"] + units).wait()
            #expect(finished.status == 0, "\(finished)")
            // An unknown key causes only a warning.
            #expect(finished.standardError.isEmpty, "\(finished)")
        }
    }

    private static let rates: Bool = {
        let help = try? RunningProcess(analyzer, ["--help"]).wait()
        return help?.standardOutput.contains("--offline") == true
    }()

    /// The exposure to attacks, by which systemd rates the sandbox from 0 to 10, is at most 2.0.
    @Test(.enabled(if: rates, "systemd-analyze is not installed, or older than version 250"))
    func theServerIsSandboxed() throws {
        let unit = Self.folder.appendingPathComponent("larder-serve.service").path
        let finished = try RunningProcess(
            Self.analyzer, ["security", "--offline=true", "--threshold=20", "--no-pager", unit]
        ).wait()
        #expect(finished.status == 0, "\(finished)")
    }
}
