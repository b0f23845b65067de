import Foundation
import LarderTestSupport
import Testing

#if os(Linux)
    /// Commands with few threads, few descriptors or little address space. Each one must end, and
    /// either succeed completely or name the limit.
    @Suite struct LowLimitsTests {
        private static let commands = [
            "evict --max-count 20", "verify", "reindex", "snapshot SNAPSHOT",
            "export EXPORT --layout files", "prefetch MANIFEST", "prefetch MANIFEST --force",
            "plan MANIFEST", "list",
        ]

        private func withCache(_ body: (CLIFixture, String) async throws -> Void) async throws {
            try await withFixture { larder in
                let manifest = try larder.manifest(
                    urls: (0..<120).map {
                        let text = Data(Icons.icon($0)).base64EncodedString()
                        return "data:image/svg+xml;base64,\(text)"
                    })
                #expect(try larder.run("prefetch", manifest).status == 0)
                try await body(larder, manifest)
            }
        }

        /// Starts a command under a limit.
        /// - Parameter limit: Shell code that sets the limit.
        private func start(
            _ larder: CLIFixture, _ command: String, _ manifest: String, limit: String
        ) throws -> RunningProcess {
            let places = [
                "MANIFEST": manifest, "SNAPSHOT": larder.directory.path("snapshot"),
                "EXPORT": larder.directory.path("export"),
            ]
            let words = command.split(separator: " ").map { places[String($0)] ?? String($0) }
            return try RunningProcess(
                "/bin/sh",
                ["-c", "\(limit) && exec \"$0\" \"$@\"", larder.binary.path] + words
                    + ["--cache", larder.cache])
        }

        private func run(
            _ larder: CLIFixture, _ command: String, _ manifest: String, limit: String
        ) throws -> Finished {
            try start(larder, command, manifest, limit: limit).wait()
        }

        private func expectSuccessOrNamedLimit(
            _ finished: Finished, _ larder: CLIFixture, _ command: String, naming limit: String
        ) throws {
            #expect(finished.status == 0 || finished.status == 1, "\(command): \(finished)")
            if finished.status == 1 {
                #expect(finished.standardError.contains(limit), "\(command): \(finished)")
            }
            let verify = try larder.run("verify", "--json")
            #expect(verify.status == 0, "\(command): \(verify)")
            // Every file has a row.
            #expect(verify.standardOutput.contains(#""orphaned":0"#), "\(command): \(verify)")
            for name in ["snapshot", "export"] {
                try? FileManager.default.removeItem(atPath: larder.directory.path(name))
            }
        }

        @Test(arguments: [12, 20, 28, 40, 64, 128])
        func commandsEndWithFewDescriptors(_ count: Int) async throws {
            try await withCache { larder, manifest in
                for command in share(of: Self.commands) {
                    let finished = try run(larder, command, manifest, limit: "ulimit -n \(count)")
                    try expectSuccessOrNamedLimit(finished, larder, command, naming: "ulimit -n")
                }
            }
        }

        /// The sizes are in KiB. The smallest one suffices to load the binary.
        @Test(arguments: [400_000, 600_000, 1_000_000])
        func commandsEndWithLittleAddressSpace(_ size: Int) async throws {
            try await withCache { larder, manifest in
                for command in share(of: Self.commands) {
                    let finished = try run(larder, command, manifest, limit: "ulimit -v \(size)")
                    try expectSuccessOrNamedLimit(finished, larder, command, naming: "ulimit -v")
                }
            }
        }

        @Test(
            .enabled("creating a control group requires root") { PIDLimit.isPossible },
            .timeLimit(.minutes(30)), arguments: [2, 4, 6, 9, 13, 40])
        func commandsEndWithFewThreads(_ count: Int) async throws {
            let limit = try PIDLimit(count)
            defer { limit.remove() }
            try await withCache { larder, manifest in
                for command in share(of: Self.commands) {
                    let finished = try run(larder, command, manifest, limit: limit.script)
                    try expectSuccessOrNamedLimit(finished, larder, command, naming: "pids.max")
                }
            }
        }

        /// The threads of transfers wait for each other. The icons of the other tests are in the
        /// manifest and need no transfers.
        @Test(
            .enabled("creating a control group requires root") { PIDLimit.isPossible },
            arguments: [7, 8, 9, 12, 40])
        func aPrefetchEndsWithFewThreads(_ count: Int) async throws {
            let limit = try PIDLimit(count)
            defer { limit.remove() }
            try await withFixture { larder in
                let manifest = try larder.manifest(urls: larder.origin.serveIcons(40))
                let finished = try start(
                    larder, "prefetch MANIFEST --allow-private-network", manifest,
                    limit: limit.script
                ).wait(timeout: 60)
                #expect(finished.status == 0 || finished.status == 1, "\(finished)")
                if finished.status == 0 {
                    #expect(try larder.status().objects == 40)
                } else {
                    #expect(finished.standardError.contains("pids.max"), "\(finished)")
                    #expect(larder.origin.requests.isEmpty)
                }
            }
        }

        /// With the lower limit, no thread can be started when the signal arrives.
        @Test(
            .enabled("creating a control group requires root") { PIDLimit.isPossible },
            arguments: ["verify", "reindex", "snapshot SNAPSHOT"], [6, 8])
        func aSignalEndsCommandsWithFewThreads(_ command: String, _ count: Int) async throws {
            let limit = try PIDLimit(count)
            defer { limit.remove() }
            try await withCache { larder, manifest in
                let objects = "\(larder.cache)/objects/sha256"
                let names = FileManager.default.subpaths(atPath: objects) ?? []
                let path = "\(objects)/\(try #require(names.first { $0.utf8.count > 64 }))"
                try makeSlowToRead(path)
                let access = try FileAccess(of: path)
                let process = try start(larder, command, manifest, limit: limit.script)
                access.wait()
                process.kill(SIGTERM)
                let finished = try process.wait(timeout: 60)
                #expect(finished.status == 143, "\(finished)")
            }
        }
    }

    /// A control group (version 1) that limits the number of threads.
    private struct PIDLimit {
        private static let root = "/sys/fs/cgroup/pids"
        private let path: String

        init(_ count: Int) throws {
            path = "\(Self.root)/larder-\(UInt32.random(in: .min ... .max))"
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
            try Data("\(count)".utf8).write(to: URL(fileURLWithPath: "\(path)/pids.max"))
        }

        /// Shell code that moves the shell into the group.
        var script: String { "echo $$ > \(path)/cgroup.procs" }

        func remove() { rmdir(path) }

        static let isPossible: Bool = {
            guard geteuid() == 0, let limit = try? PIDLimit(5) else { return false }
            limit.remove()
            return true
        }()
    }
#endif
