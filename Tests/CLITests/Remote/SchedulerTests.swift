import Foundation
import LarderTestSupport
import Testing

/// The scripts of `contrib` for several workers, run by the schedulers that they are for. One of
/// the workers fails the first time, because the remote stops working.
@Suite(.timeLimit(.minutes(30))) struct SchedulerTests {
    private static let count = 240
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../contrib").standardizedFileURL

    /// A script of `contrib`, with this test's manifest, remote and cache in their places.
    private func copy(_ name: String, _ remote: RemoteFixture) throws -> String {
        var text = try String(
            contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
        for (old, new) in [
            ("/etc/larder/apps.json", try remote.manifest(Self.count)),
            ("s3://icons/shared", remote.bucket.location),
            ("/var/cache/larder", remote.cache("all")),
        ] where text.contains(old) {
            text = text.replacingOccurrences(of: old, with: new)
        }
        let path = try remote.larder.write(text.utf8, to: name)
        chmod(path, 0o755)
        return path
    }

    /// Finds `larder` first, and has files where they are removed.
    private func environment(_ remote: RemoteFixture) -> [String: String] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let folder = URL(fileURLWithPath: remote.larder.binary.path).deletingLastPathComponent()
        let own = [
            "PATH": "\(folder.path):\(path)", "TMPDIR": remote.larder.directory.path,
            "HOME": remote.larder.directory.path, "JOB_COMPLETION_INDEX": "", "PARALLEL_SEQ": "",
            "SLURM_ARRAY_TASK_ID": "",
        ]
        return remote.environment.merging(own) { $1 }
    }

    /// Refuses what one worker stores, until it has given up; which one is left to chance.
    private func failOnce(_ remote: RemoteFixture) {
        remote.proxy.misbehave { request, _ in
            guard request.method == "PUT", request.path.contains("/refs/") else { return nil }
            // The client is gone for good with this one.
            return request.path.hasSuffix(
                RemoteName.reference(RemoteFixture.url(0), to: Icons.icon(0)))
                && request.attempt == 1 ? .s3Error(403, "AccessDenied") : nil
        }
    }

    private func expectAll(_ remote: RemoteFixture) async throws {
        let asked = remote.origin.requests.map(\.path)
        #expect(Set(asked).count == Self.count)
        #expect(asked.count == Self.count)
        for host in 0..<RemoteFixture.hosts {
            #expect(remote.origin.mostConcurrentRequests(host: "h\(host).example") <= 6)
        }
        try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
    }

    // MARK: GNU parallel

    private static let program = ["/usr/bin/parallel", "/usr/local/bin/parallel"]
        .first(where: FileManager.default.isExecutableFile)

    @Test(.needsRclone, .enabled(if: program != nil, "there is no GNU parallel"))
    func parallel() async throws {
        try await withRemote { remote in
            let script = try copy("parallel.sh", remote)
            failOnce(remote)
            let finished = try await runScript(script, remote)
            // Of what is tried again, parallel hands on nothing but the last output.
            #expect(finished.status == 0, "\(finished)")
            let refused = RemoteName.reference(RemoteFixture.url(0), to: Icons.icon(0))
            #expect(remote.proxy.count("PUT", refused) == 2)
            try await expectAll(remote)
            // All are done, as the log has it.
            let again = try await runScript(script, remote)
            #expect(again.status == 0, "\(again)")
            #expect(remote.origin.count() == Self.count)
        }
    }

    private func runScript(_ script: String, _ remote: RemoteFixture) async throws -> Finished {
        try await onThreadOfItsOwn {
            try RunningProcess(
                script, remote.connections,
                environment: ProcessInfo.processInfo.environment
                    .merging(environment(remote)) { $1 },
                directory: remote.larder.directory.path
            ).wait()
        }
    }

    /// Killed with all its workers, it is run again and does the rest.
    @Test(.needsRclone, .enabled(if: program != nil, "there is no GNU parallel"))
    func parallelIsResumed() async throws {
        try await withRemote { remote in
            let script = try copy("parallel.sh", remote)
            let gate = try Gate()
            // One icon does not come: the other workers finish, its own does not.
            remote.origin.onAny { request in
                let reply = RemoteFixture.reply(request)
                return request.path == "/3" ? reply.heldBy(gate) : reply
            }
            // With a process group of its own.
            let process = try RunningProcess(
                "/usr/bin/setsid", [script] + remote.connections,
                environment: ProcessInfo.processInfo.environment
                    .merging(environment(remote)) { $1 },
                directory: remote.larder.directory.path)
            try await remote.origin.waitForRequests(Self.count)
            #expect(kill(-process.pid, SIGKILL) == 0)
            let first = try await onThreadOfItsOwn { try process.wait() }
            #expect(first.status == -SIGKILL, "\(first)")
            gate.open()
            remote.serve()
            let second = try await runScript(script, remote)
            #expect(second.status == 0, "\(second)")
            try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
        }
    }

    // MARK: Slurm

    @Test(
        .needsRclone, .isLong,
        .enabled(if: SlurmCluster.missing == nil, "\(SlurmCluster.missing ?? "")"))
    func slurm() async throws {
        let cluster = try await SlurmCluster()
        try await withRemote { remote in
            let script = try copy("slurm-array.sh", remote)
            failOnce(remote)
            let ends = try await cluster.run(
                script, remote.connections, environment: environment(remote),
                directory: remote.larder.directory.path)
            let logs = try FileManager.default
                .contentsOfDirectory(atPath: remote.larder.directory.path)
                .filter { $0.hasSuffix(".log") }
                .map {
                    try String(contentsOfFile: remote.larder.directory.path($0), encoding: .utf8)
                }
            #expect(ends == Array(repeating: 0, count: 8), "\(logs)")
            #expect(logs.count == 8)
            #expect(logs.count { $0.contains("AccessDenied") } == 1, "\(logs)")
            #expect(logs.count { $0.contains("DUE TO JOB REQUEUE") } == 1, "\(logs)")
            try await expectAll(remote)
            // The caches are gone.
            let left = try FileManager.default
                .contentsOfDirectory(atPath: remote.larder.directory.path)
            #expect(!left.contains { $0.hasPrefix("larder-") && !$0.hasSuffix(".log") }, "\(left)")
        }
    }

    // MARK: Kubernetes

    private static let reader = """
        import json, sys, yaml
        json.dump(yaml.safe_load(sys.stdin), sys.stdout)
        """

    private static let readsYAML: Bool = {
        let finished = try? RunningProcess("/usr/bin/env", ["python3", "-c", "import yaml"]).wait()
        return finished?.status == 0
    }()

    /// The Job's command, as each of its pods runs it.
    @Test(.needsRclone, .enabled(if: readsYAML, "there is no PyYAML"))
    func kubernetes() async throws {
        try await withRemote { remote in
            let text = try Data(
                contentsOf: Self.folder.appendingPathComponent("kubernetes-job.yaml"))
            let read = try RunningProcess(
                "/usr/bin/env", ["python3", "-c", Self.reader], standardInput: text
            ).wait()
            let job = try JSONDecoder().decode(
                [String: JSONValue].self, from: read.standardOutputBytes)
            #expect(job["kind"] == .string("Job") && job["apiVersion"] == .string("batch/v1"))
            let spec = try #require(job["spec"]?.object)
            let pod = try #require(spec["template"]?.object?["spec"]?.object)
            // What backoffLimitPerIndex and podFailurePolicy are allowed with.
            #expect(spec["completionMode"] == .string("Indexed"))
            #expect(pod["restartPolicy"] == .string("Never"))
            let count = try #require(spec["completions"]?.integer)
            #expect(spec["parallelism"]?.integer == count)
            let container = try #require(pod["containers"]?.array?.first?.object)
            let command = try #require(container["command"]?.array).compactMap(\.string)
            let arguments = try #require(container["args"]?.array).compactMap(\.string)
            #expect(command == ["larder", "prefetch"])
            #expect(arguments.contains("auto/\(count)"))
            #expect(arguments.allSatisfy { !$0.isEmpty } && arguments.count == 10)
            let manifest = try remote.manifest(Self.count)
            for index in 0..<count {
                let own = arguments.map { argument in
                    switch argument {
                    case "https://example.com/apps.json": manifest
                    case "s3://icons/shared": remote.bucket.location
                    case "/cache/larder": remote.cache("\(index)")
                    default: argument
                    }
                }
                let finished = try await onThreadOfItsOwn {
                    try remote.larder.binary.run(
                        command.dropFirst() + own + remote.connections,
                        environment: environment(remote).merging(
                            ["JOB_COMPLETION_INDEX": "\(index)"]) { $1 })
                }
                #expect(finished.status == 0 && finished.standardOutput.isEmpty, "\(finished)")
                #expect(finished.standardError.isEmpty)
            }
            try await expectAll(remote)
        }
    }
}
