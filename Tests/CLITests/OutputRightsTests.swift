import Foundation
import LarderTestSupport
import Testing

/// The permissions of files that commands write, and the links that commands follow.
@Suite struct OutputRightsTests {
    /// The names of output files. Each name selects the command in `write`.
    private static let outputs = [
        "lock.json", "report.jsonl", "larder.prom", "Seed.swift", "missing.json", "access.jsonl",
    ]

    private func permissions(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// Runs the command that writes this file, and returns its exit status.
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

    /// Requests an icon that the server does not have, and terminates the server.
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
                // A replacement does not grant more than the old file.
                (0o600, "022", 0o600), (0o644, "077", 0o600), (0o755, "022", new & 0o644),
                (0o4755, "022", new & 0o644), (0o666, "027", new & 0o640),
            ] as [(mode_t?, String, mode_t)] {
                if let old { #expect(chmod(path, old) == 0) }
                let status = try write(path, in: larder, umask: umask)
                #expect(status == 0)
                // An existing log is appended to and keeps its permissions.
                if name != "access.jsonl" || old == nil { #expect(permissions(path) == expected) }
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"), arguments: outputs)
    func noFileIsWrittenThroughAnotherUsersLink(_ name: String) async throws {
        try await withFilledCache { larder in
            let destination = larder.directory.path("destination")
            #expect(mkdir(destination, 0o755) == 0)
            _ = try larder.write("precious".utf8, to: "destination/\(name)")
            // A link to the directory, and a link to the file.
            for (link, path) in [("linked", "linked/\(name)"), (name, name)] {
                let target = link == "linked" ? destination : "\(destination)/\(name)"
                #expect(symlink(target, larder.directory.path(link)) == 0)
                #expect(lchown(larder.directory.path(link), 65534, 65534) == 0)
                let status = try write(larder.directory.path(path), in: larder, umask: "022")
                #expect(status == 1, "\(path)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: destination) == [name])
                let text = try String(contentsOfFile: "\(destination)/\(name)", encoding: .utf8)
                #expect(text == "precious")
            }
        }
    }

    /// Users may redirect a report with such a link.
    @Test func aLinkOfTheSameUserIsFollowed() async throws {
        try await withFilledCache { larder in
            #expect(mkdir(larder.directory.path("destination"), 0o755) == 0)
            #expect(symlink("destination", larder.directory.path("linked")) == 0)
            #expect(symlink("linked/report.jsonl", larder.directory.path("report.jsonl")) == 0)
            for path in ["report.jsonl", "linked/lock.json"] {
                #expect(try write(larder.directory.path(path), in: larder, umask: "022") == 0)
            }
            let files = try FileManager.default.contentsOfDirectory(
                atPath: larder.directory.path("destination"))
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
            let destination = larder.directory.path("destination")
            #expect(mkdir(destination, 0o755) == 0)
            #expect(symlink(destination, larder.directory.path("linked")) == 0)
            #expect(lchown(larder.directory.path("linked"), 65534, 65534) == 0)
            let seed = larder.directory.path("seed")
            #expect(try larder.run("export", seed, "--layout", "nuke").status == 0)
            for path in ["linked", "linked/deeper", "linked/deeper/still"] {
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
                let isTaken = command == ["snapshot"] && path == "linked"
                #expect(finished.status == 1 || command == ["reindex"], "\(finished)")
                #expect(
                    finished.standardError.contains("is a link created by") || isTaken
                        || command == ["reindex"], "\(finished)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: destination).isEmpty)
            }
        }
    }

    /// The files belong to root, and other users cannot change them.
    @Test(
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: [["export", "--layout", "gallery"], ["snapshot"]])
    func rootMayWriteIntoAnotherUsersDirectory(_ command: [String]) async throws {
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
