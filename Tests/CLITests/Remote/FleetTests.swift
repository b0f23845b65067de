import Foundation
import LarderTestSupport
import Synchronization
import Testing

/// Workers that fill a remote together. One of them is killed.
@Suite(.timeLimit(.minutes(30))) struct FleetTests {
    private static let count = 1200
    private static let perHost = 4
    private static let hot = "h7.example"
    private static let options = [
        "--split-host", "\(hot)=4", "--max-per-host", "\(perHost)", "--max-concurrent", "16",
    ]

    private func start(
        _ remote: RemoteFixture, _ manifest: String, _ worker: Int, of count: Int,
        in fleet: String = "", _ more: [String] = []
    ) throws -> (process: RunningProcess, report: String) {
        try remote.start(
            manifest, on: "\(fleet)\(worker)",
            ["--shard", "\(worker)/\(count)"] + Self.options + more)
    }

    private func run(
        _ remote: RemoteFixture, _ manifest: String, of count: Int, in fleet: String
    ) async throws -> [PrefetchRun] {
        let workers = try (0..<count).map {
            try start(remote, manifest, $0, of: count, in: fleet)
        }
        var runs: [PrefetchRun] = []
        for worker in workers {
            runs.append(try await RemoteFixture.end(worker.process, worker.report))
        }
        return runs
    }

    private func path(_ url: String) -> String { "/\(url.split(separator: "/").last ?? "")" }

    /// A worker is killed, and its shard runs again with or without the worker's cache.
    ///
    /// Icons in the remote or in that cache are not fetched again. Other icons were in flight: in
    /// transfers (`--max-concurrent`), responses waiting to be staged (`FetchQueue.backlogLimit`),
    /// the store's batches (up to twice `Store.batchLimit`), and uploads (`PushStage.capacity`, the
    /// last page of results, `--remote-concurrent`). Their number has a limit that does not depend
    /// on the size of the shard. The limit is larger than this shard, so the test computes the
    /// icons in flight from the listings of the remote and the cache.
    @Test(.needsRclone, arguments: share(of: [true, false]))
    func rerunningAShardFetchesOnlyIconsInFlightAgain(_ keepsCache: Bool) async throws {
        try await withRemote { remote in
            var remote = remote
            remote.endpoint = remote.bucket.server.endpoint
            let manifest = try remote.manifest(Self.count)
            let workers = try (0..<3).map { try start(remote, manifest, $0, of: 3) }
            try await remote.origin.waitForRequests(.random(in: 300...900))
            workers[1].process.kill(SIGKILL)
            for worker in [0, 2] {
                let run = try await RemoteFixture.end(
                    workers[worker].process, workers[worker].report)
                #expect(run.status == 0, "\(run.finished)")
            }
            _ = try await onThreadOfItsOwn { try workers[1].process.wait() }
            let requested = remote.origin.requests.map(\.path)
            #expect(Set(requested).count == requested.count)

            let shared = try await remote.bucket.names()
            var stored = Set(
                RemoteFixture.urls(0..<Self.count).filter { shared.contains(RemoteName.name($0)) })
            if keepsCache {
                let list = try await remote.local("list", "--json", on: "1")
                stored.formUnion(
                    try JSONValue.lines(list.standardOutputBytes).compactMap { $0["url"]?.string })
            } else {
                try remote.forgetCache("1")
            }
            let (process, report) = try start(remote, manifest, 1, of: 3)
            let again = try await RemoteFixture.end(process, report)
            #expect(again.status == 0, "\(again.finished)")
            let refetched = Set(remote.origin.requests.dropFirst(requested.count).map(\.path))
                .intersection(requested)
            let inFlight = Set(requested).subtracting(stored.map(path))
            #expect(refetched.isSubset(of: inFlight))
            print(
                "killed after \(requested.count) requests, in flight \(inFlight.count), "
                    + "fetched twice \(refetched.count)")
            #expect(try await remote.bucket.names().count == Self.count)
            try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
            for host in 0..<RemoteFixture.hosts {
                let most = remote.origin.mostConcurrentRequests(host: "h\(host).example")
                #expect(most <= Self.perHost, "h\(host)")
            }

            // A fleet of five workers instead of three fetches nothing.
            remote.origin.resetLog()
            let five = try await run(remote, manifest, of: 5, in: "five-")
            #expect(five.allSatisfy { $0.status == 0 }, "\(five.map(\.finished))")
            #expect(five.map(\.summary.shared).reduce(0, +) == Self.count)
            #expect(remote.origin.count() == 0)
        }
    }

    /// The worker is killed after 150 icons are in the remote and while 16 responses are held.
    /// The second run fetches exactly the 50 missing icons.
    @Test(.needsRclone, arguments: share(of: [true, false]))
    func sharedIconsAreNotFetchedAgainAfterAKill(_ keepsCache: Bool) async throws {
        try await withRemote { remote in
            let manifest = try remote.larder.manifest(
                (0..<200).map { number -> ManifestEntry in
                    ["icon": RemoteFixture.url(number), "priority": number < 150 ? "high" : "low"]
                })
            let gate = try Gate()
            remote.origin.onAny { request in
                let reply = RemoteFixture.reply(request)
                return RemoteFixture.number(request) < 150 ? reply : reply.heldBy(gate)
            }
            // After writing a reference, the worker checks with HEAD that its object exists.
            let shared = try Countdown(150)
            remote.proxy.misbehave { request, _ in
                if request.method == "HEAD" { shared.count() }
                return nil
            }
            let (process, _) = try start(
                remote, manifest, 0, of: 1,
                ["--max-per-host", "16", "--max-concurrent", "16", "--stall-timeout", "1h"])
            try await remote.origin.waitForRequests(150 + 16)
            try await shared.wait()
            process.kill(SIGKILL)
            _ = try await onThreadOfItsOwn { try process.wait() }
            #expect(remote.origin.count() == 166)
            gate.open()
            if !keepsCache { try remote.forgetCache("0") }
            remote.origin.resetLog()
            let (second, report) = try start(remote, manifest, 0, of: 1)
            let again = try await RemoteFixture.end(second, report)
            #expect(again.status == 0 && again.summary.fetched == 50, "\(again.finished)")
            #expect(remote.origin.requests.allSatisfy { RemoteFixture.number($0) >= 150 })
            #expect(remote.origin.count() == 50)
            try await remote.expectSoundRemote(objects: 200, references: 200)
        }
    }
}
