import Foundation
import LarderTestSupport
import Testing

/// Who may change the files that commands write, and whose links lead to them.
@Suite struct OutputRightsTests {
    /// What writes a file, by the file's name.
    private static let outputs = [
        "lock.json", "report.jsonl", "larder.prom", "Seed.swift", "missing.json", "access.jsonl",
    ]

    private func permissions(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// Runs the command that writes a file, with a umask.
    private func write(_ path: String, in larder: CLIFixture, umask: String) throws -> Int32 {
        let manifest = larder.directory.path("apps.json")
        let network = ["--allow-private-network", "--quiet"]
        let arguments: [String]
        switch URL(fileURLWithPath: path).lastPathComponent {
        case "lock.json": arguments = ["prefetch", manifest, "--write-lock", path] + network
        case "report.jsonl": arguments = ["prefetch", manifest, "--report", path] + network
        case "larder.prom": arguments = ["status", "--format", "prometheus", "--output", path]
        case "Seed.swift":
            arguments = [
                "export", larder.directory.path("seed"), "--layout", "nuke", "--installer", path,
            ]
        case let name:
            let option = name == "missing.json" ? "--missing-list" : "--access-log"
            arguments = ["serve", "--listen", "127.0.0.1:0", "--quiet", option, path]
        }
        let process = try RunningProcess(
            "/bin/sh",
            ["-c", "umask \(umask); exec \"$0\" \"$@\"", larder.binary.path] + arguments
                + ["--cache", larder.cache])
        guard arguments[0] == "serve" else { return try process.wait().status }
        return try serve(process)
    }

    /// Asks a server for an icon that it does not have, and ends it.
    private func serve(_ process: RunningProcess) throws -> Int32 {
        _ = process.waitForOutput { output, _ in output.contains("\n") }
        let line = process.standardOutputSoFar.split(separator: "\n").first ?? ""
        guard let port = UInt16(line.dropLast().split(separator: ":").last ?? "") else {
            return try process.wait().status
        }
        _ = try RawClient(port: port).get("/icon?url=http://a.example/none.png")
        process.kill(SIGTERM)
        return try process.wait().status
    }

    private func withFilledCache(_ body: (CLIFixture) throws -> Void) async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(urls: larder.origin.serveIcons(2)))
            unlink(larder.directory.path("report.jsonl"))
            try body(larder)
        }
    }

    @Test(arguments: outputs) func aReplacedFileGetsNoMoreRightsThanANewOne(
        _ name: String
    ) async throws {
        let isPrivate = name == "missing.json"
        try await withFilledCache { larder in
            let path = larder.directory.path(name)
            let new: mode_t = isPrivate ? 0o600 : name == "access.jsonl" ? 0o640 : 0o644
            for (old, umask, expected) in [
                (nil, "000", new), (0o666, "000", new),
                // Whoever made the old one for few has the new one for as few.
                (0o600, "022", 0o600), (0o644, "077", 0o600), (0o755, "022", new & 0o644),
                (0o4755, "022", new & 0o644), (0o666, "027", new & 0o640),
            ] as [(mode_t?, String, mode_t)] {
                if let old { #expect(chmod(path, old) == 0) }
                let status = try write(path, in: larder, umask: umask)
                #expect(status == 0)
                // A log is added to: its rights are its owner's affair.
                if name != "access.jsonl" || old == nil { #expect(permissions(path) == expected) }
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"), arguments: outputs)
    func noFileIsWrittenThroughAnotherUsersLink(_ name: String) async throws {
        try await withFilledCache { larder in
            let goal = larder.directory.path("goal")
            #expect(mkdir(goal, 0o755) == 0)
            _ = try larder.write("precious".utf8, to: "goal/\(name)")
            // The directory, and the file itself.
            for (link, path) in [("way", "way/\(name)"), (name, name)] {
                let target = link == "way" ? goal : "\(goal)/\(name)"
                #expect(symlink(target, larder.directory.path(link)) == 0)
                #expect(lchown(larder.directory.path(link), 65534, 65534) == 0)
                let status = try write(larder.directory.path(path), in: larder, umask: "022")
                #expect(status == 1, "\(path)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: goal) == [name])
                let text = try String(contentsOfFile: "\(goal)/\(name)", encoding: .utf8)
                #expect(text == "precious")
            }
        }
    }

    /// Another link of the user's own is a way to put a report elsewhere.
    @Test func theUsersOwnLinkIsFollowed() async throws {
        try await withFilledCache { larder in
            #expect(mkdir(larder.directory.path("goal"), 0o755) == 0)
            #expect(symlink("goal", larder.directory.path("way")) == 0)
            #expect(symlink("way/report.jsonl", larder.directory.path("report.jsonl")) == 0)
            for path in ["report.jsonl", "way/lock.json"] {
                #expect(try write(larder.directory.path(path), in: larder, umask: "022") == 0)
            }
            let files = try FileManager.default.contentsOfDirectory(
                atPath: larder.directory.path("goal"))
            #expect(files.sorted() == ["lock.json", "report.jsonl"])
        }
    }

    private static let directories = [
        ["export", "--layout", "gallery"], ["export", "--layout", "files"],
        ["export", "--layout", "nuke"], ["snapshot"], ["prefetch"], ["import"], ["reindex"],
    ]

    @Test(
        .enabled(if: geteuid() == 0, "only root can give files away"), arguments: directories)
    func noDirectoryIsWrittenThroughAnotherUsersLink(_ command: [String]) async throws {
        try await withFilledCache { larder in
            let goal = larder.directory.path("goal")
            #expect(mkdir(goal, 0o755) == 0)
            #expect(symlink(goal, larder.directory.path("way")) == 0)
            #expect(lchown(larder.directory.path("way"), 65534, 65534) == 0)
            let seed = larder.directory.path("seed")
            #expect(try larder.run("export", seed, "--layout", "nuke").status == 0)
            for path in ["way", "way/deeper", "way/deeper/still"] {
                let place = larder.directory.path(path)
                let manifest = larder.directory.path("apps.json")
                let arguments: [String]
                switch command[0] {
                case "prefetch":
                    arguments = ["prefetch", manifest, "--allow-private-network", "--cache", place]
                case "import":
                    arguments = [
                        "import", seed, "--layout", "nuke", "--manifest", manifest, "--cache",
                        place,
                    ]
                case "reindex": arguments = ["reindex", "--cache", place]
                default:
                    arguments =
                        [command[0], place] + command.dropFirst() + ["--cache", larder.cache]
                }
                let finished = try larder.binary.run(arguments)
                let isTaken = command == ["snapshot"] && path == "way"
                #expect(finished.status == 1 || command == ["reindex"], "\(finished)")
                #expect(
                    finished.standardError.contains("is a link created by") || isTaken
                        || command == ["reindex"], "\(finished)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: goal).isEmpty)
            }
        }
    }

    /// Root may use a directory of another user's, and leaves nothing that others can change.
    @Test(
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: [["export", "--layout", "gallery"], ["snapshot"]])
    func aDirectoryOfAnotherUserIsNoReasonToFail(_ command: [String]) async throws {
        try await withFilledCache { larder in
            let home = larder.directory.path("home")
            #expect(mkdir(home, 0o755) == 0 && chown(home, 65534, 65534) == 0)
            let finished = try larder.run(
                arguments: [command[0], "\(home)/out"] + command.dropFirst())
            #expect(finished.status == 0, "\(finished)")
            let files = try #require(FileManager.default.enumerator(atPath: home))
            for case let name as String in files {
                var status = stat()
                #expect(lstat("\(home)/\(name)", &status) == 0)
                #expect(status.st_uid == 0 && status.st_mode & 0o022 == 0, "\(name)")
            }
        }
    }
}
