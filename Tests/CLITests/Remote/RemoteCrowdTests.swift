import Foundation
import LarderTestSupport
import Synchronization
import Testing

/// Four workers fill a remote, two machines use it, and two loops evict from it, all at once and
/// repeatedly. Some of the evictions are killed.
///
/// `LARDER_CROWD_SECONDS` sets the duration in seconds (default: 60).
@Suite(.timeLimit(.minutes(60))) struct RemoteCrowdTests {
    private static let count = 72

    @Test(.needsRclone) func concurrentRunsLeaveNoReferenceWithoutObject() async throws {
        let seconds = testSetting("LARDER_CROWD_SECONDS") ?? share(of: 60)
        try await withRemote { remote in
            var remote = remote
            remote.endpoint = remote.bucket.server.endpoint
            // Some icons change with every request, so their objects soon lose their references.
            // Some have the same bytes as another icon.
            remote.origin.onAny { request in
                let number = RemoteFixture.number(request)
                let version = number % 3 == 0 ? request.attempt % 4 : 0
                return Icons.reply(number % 60 + 1000 * version)
                    .header("Cache-Control", "max-age=\(number % 2)")
            }
            let members = Members(remote, end: .now + .seconds(seconds))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        try await members.prefetch(
                            "worker-\(worker)", ["--shard", "\(worker)/4"])
                    }
                }
                for machine in 0..<2 {
                    group.addTask { try await members.prefetch("m\(machine)", []) }
                }
                group.addTask { try await members.evict("evictor", isKilled: false) }
                group.addTask { try await members.evict("killed evictor", isKilled: true) }
                try await group.waitForAll()
            }
            print(members.summary)
            for failure in members.failures { Issue.record("\(failure)") }
            // Waits until the server has answered the requests of killed evictions.
            remote.proxy.origin.stop()

            let last = try await remote.run(["evict", "--max-age", "1h", "--grace", "0s", "--json"])
            #expect(last.status == 0, "\(last)")
            try await remote.expectSoundRemote()
            let run = try await remote.prefetch(remote.manifest(Self.count), on: "last")
            #expect(run.status == 0, "\(run.finished)")
            let faults = try run.remote().faults
            #expect(faults.isEmpty, "\(faults) \(run.finished)")
            #expect(try await remote.bucket.names().count == Self.count)
            try await remote.expectSoundRemote(references: Self.count)
        }
    }

    private final class Members: Sendable {
        private let remote: RemoteFixture
        private let end: ContinuousClock.Instant
        private let state = Mutex((counts: [String: Int](), failures: [String]()))

        init(_ remote: RemoteFixture, end: ContinuousClock.Instant) {
            (self.remote, self.end) = (remote, end)
        }

        var failures: [String] { state.withLock { $0.failures } }
        var summary: String {
            let counts = state.withLock { $0.counts }
            return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                .joined(separator: "; ")
        }

        private func count(_ action: String, _ count: Int = 1) {
            state.withLock { $0.counts[action, default: 0] += count }
        }

        private func expect(_ isRight: Bool, _ failure: @autoclosure () -> String) {
            if !isRight { state.withLock { $0.failures.append(failure()) } }
        }

        /// Prefetches random subsets of the icons, sometimes with an empty cache.
        func prefetch(_ name: String, _ options: [String]) async throws {
            while ContinuousClock.now < end {
                let numbers = (0..<RemoteCrowdTests.count).filter { _ in .random() }
                let manifest = try remote.larder.manifest(
                    urls: numbers.map(RemoteFixture.url), name: "\(name).json")
                let run = try await remote.prefetch(manifest, on: name, options)
                expect(run.status == 0, "\(name): \(run.finished)")
                let report = try run.remote()
                count("pulled", report.pulled)
                count("pushed", report.pushed)
                for (fault, number) in report.faults { count(fault, number) }
                // An object can be evicted between the listing and its download.
                let bad = report.faults.keys.filter { $0 != "remote-not-found" }
                expect(bad.isEmpty, "\(name): \(run.finished)")
                if Int.random(in: 0..<3) == 0 { try remote.forgetCache(name) }
            }
        }

        func evict(_ name: String, isKilled: Bool) async throws {
            while ContinuousClock.now < end {
                let process = try remote.command(
                    ["evict", "--max-age", "\(Int.random(in: 0...1))s", "--grace", "0s", "--json"],
                    on: name,
                    environment: isKilled ? ["AWS_ENDPOINT_URL_S3": remote.proxy.endpoint] : [:])
                if isKilled, .random() {
                    // The kill comes at a random moment.
                    try await Task.sleep(for: .milliseconds(.random(in: 5...250)))
                    process.kill(SIGKILL)
                }
                let finished = try await onThreadOfItsOwn { try process.wait() }
                if isKilled, finished.status == -SIGKILL {
                    count("evictions killed")
                    continue
                }
                expect(finished.status == 0, "\(name): \(finished)")
                let report = try JSONValue.lines(finished.standardOutputBytes).first ?? [:]
                for key in ["expired", "replaced", "evicted_objects", "undone"] {
                    count(key, report[key]?.integer ?? 0)
                }
            }
        }
    }
}
