import Foundation
import LarderTestSupport
import Testing

/// The scripts for several workers in `contrib`, run by their schedulers. One worker fails the
/// first time, because the remote refuses a request.
@Suite(.timeLimit(.minutes(30))) struct SchedulerTests {
    private static let count = 240
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../contrib").standardizedFileURL

    /// Copies a script of `contrib` and inserts this test's manifest, remote and cache.
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
        let path = remote.larder.directory.path(name)
        try writeProgram(text, to: path)
        return path
    }

    /// An environment that finds this `larder` first and keeps all files in the test's directory.
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

    /// Refuses the first upload of one reference.
    private func failOnce(_ remote: RemoteFixture) {
        remote.proxy.misbehave { request, _ in
            guard request.method == "PUT", request.path.contains("/refs/") else { return nil }
            // After this error, the worker stops using the remote.
            return request.path.hasSuffix(
                RemoteName.reference(RemoteFixture.url(0), to: Icons.icon(0)))
                && request.attempt == 1 ? .s3Error(403, "AccessDenied") : nil
        }
    }

    private func expectAll(_ remote: RemoteFixture) async throws {
        let requested = remote.origin.requests.map(\.path)
        #expect(Set(requested).count == Self.count)
        #expect(requested.count == Self.count)
        for host in 0..<RemoteFixture.hosts {
            #expect(remote.origin.mostConcurrentRequests(host: "h\(host).example") <= 6)
        }
        try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
    }

    // MARK: GNU parallel

    private static let program = ["/usr/bin/parallel", "/usr/local/bin/parallel"]
        .first(where: FileManager.default.isExecutableFile)

    @Test(.needsRclone, .enabled(if: program != nil, "GNU parallel is not installed"))
    func gnuParallelRetriesAFailedWorker() async throws {
        try await withRemote { remote in
            let script = try copy("parallel.sh", remote)
            failOnce(remote)
            let finished = try await runScript(script, remote)
            // parallel prints only the last output of a retried job.
            #expect(finished.status == 0, "\(finished)")
            let refused = RemoteName.reference(RemoteFixture.url(0), to: Icons.icon(0))
            #expect(remote.proxy.count("PUT", refused) == 2)
            try await expectAll(remote)
            // According to parallel's log, all jobs are done.
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

    @Test(.needsRclone, .enabled(if: program != nil, "GNU parallel is not installed"))
    func gnuParallelResumesAfterAKill() async throws {
        try await withRemote { remote in
            let script = try copy("parallel.sh", remote)
            let gate = try Gate()
            // One response is held, so that only its worker cannot finish.
            remote.origin.onAny { request in
                let reply = RemoteFixture.reply(request)
                return request.path == "/3" ? reply.heldBy(gate) : reply
            }
            // In a new process group, so that the kill includes the workers.
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
    func slurmRequeuesAFailedWorker() async throws {
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
            // The script removes the caches.
            let remaining = try FileManager.default
                .contentsOfDirectory(atPath: remote.larder.directory.path)
            #expect(
                !remaining.contains { $0.hasPrefix("larder-") && !$0.hasSuffix(".log") },
                "\(remaining)")
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

    /// Runs the Job's command as each of its pods would.
    @Test(.needsRclone, .enabled(if: readsYAML, "PyYAML is not installed"))
    func theKubernetesJobFillsTheRemote() async throws {
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
            // Required by backoffLimitPerIndex and podFailurePolicy.
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
            // The header creates the ConfigMap.
            let volumes = try #require(pod["volumes"]?.array).compactMap(\.object)
            let mounts = try #require(container["volumeMounts"]?.array).compactMap(\.object)
            let map = try #require(
                volumes.first { $0["configMap"]?.object?["name"] == .string("larder-manifest") })
            let folder = try #require(
                mounts.first { $0["name"] == map["name"] }?["mountPath"]?.string)
            let manifest = try remote.manifest(Self.count)
            for index in 0..<count {
                let own = arguments.map { argument in
                    switch argument {
                    case "\(folder)/apps.json": manifest
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
