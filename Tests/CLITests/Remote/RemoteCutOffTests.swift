import Foundation
import LarderTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(30))) struct RemoteCutOffTests {
    private static let count = 60

    /// The way in which the remote fails after it has stored ten icons.
    enum Outage: String, CaseIterable, Sendable {
        /// The server's processes are suspended.
        case silence
        case errors
        case slowDown
        /// Every connection is closed.
        case cuts
    }

    /// Without `--shard`, the run continues with the origins. A worker stops, because nothing that
    /// it fetches would reach the remote.
    @Test(.needsRclone, arguments: share(of: Outage.allCases), [false, true])
    func theNextRunCatchesUpAfterAnOutage(_ outage: Outage, _ isWorker: Bool) async throws {
        let server = try await RcloneServer()
        try await withRemote(on: server) { remote in
            let manifest = try remote.manifest(Self.count)
            // Some responses are held, so that the worker is not done before the remote fails.
            let gate = try Gate()
            remote.origin.onAny { request in
                let reply = RemoteFixture.reply(request)
                return RemoteFixture.number(request) < 30 ? reply : reply.heldBy(gate)
            }
            remote.proxy.misbehave(Self.handler(outage, server))
            // The held responses must not fail before the remote does.
            let options =
                ["--stall-timeout", "1s", "--attempts", "100"]
                + (isWorker ? ["--shard", "0/1"] : [])
            let (process, report) = try remote.start(manifest, on: "one", options)
            if !isWorker {
                gate.open()
            }
            let run = try await RemoteFixture.end(process, report)
            gate.open()
            #expect(run.status == 2, "\(run.finished)")
            let remoteReport = try run.remote()
            #expect(
                remoteReport.error?.hasPrefix("s3://") == true && remoteReport.unpushed > 0,
                "\(run.finished)")
            if isWorker {
                #expect(run.summary.unfinished > 0 && run.summary.failed == 0, "\(run.finished)")
            } else {
                #expect(run.summary.fetched == Self.count, "\(run.finished)")
            }
            #expect(run.summary.fetched + run.summary.unfinished == Self.count)
            #expect(try await remote.local("verify", "--quiet", on: "one").status == 0)

            server.resume()
            remote.proxy.misbehave { _, _ in nil }
            await remote.proxy.settle()
            remote.origin.resetLog()
            let next = try await remote.prefetch(manifest, on: "one", options)
            #expect(next.status == 0, "\(next.finished)")
            #expect(next.summary.fetched == run.summary.unfinished, "\(next.finished)")
            #expect(next.summary.cached == run.summary.fetched)
            #expect(remote.origin.count() == run.summary.unfinished)
            try await remote.expectIcons(Self.count, on: "one")
            try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
            let other = try await remote.prefetch(manifest, on: "two")
            #expect(other.summary.pulled == Self.count, "\(other.finished)")
        }
    }

    private static func handler(
        _ outage: Outage, _ server: RcloneServer
    ) -> MisbehavingProxy.Handler {
        let left = Counter(10)
        return { request, forward in
            guard left.isOver(counting: request.method == "PUT" && request.path.contains("/refs/"))
            else { return nil }
            switch outage {
            case .silence:
                server.suspend()
                return forward(request)
            case .errors: return .s3Error(500, "InternalError")
            case .slowDown: return .slowDown
            case .cuts: return .lost
            }
        }
    }

    private final class Counter: Sendable {
        private let left: Mutex<Int>

        init(_ count: Int) { left = Mutex(count) }

        func isOver(counting isCounted: Bool) -> Bool {
            left.withLock { left in
                if left <= 0 { return true }
                if isCounted { left -= 1 }
                return false
            }
        }

        /// Counts down. Returns true only when the count reaches zero.
        func isUsedUp() -> Bool {
            left.withLock { left in
                left -= 1
                return left == 0
            }
        }
    }

    @Test(.needsRclone, .isLong) func aRemoteThatNeverAnswersDoesNotBlockARun() async throws {
        let server = try await RcloneServer()
        try await withRemote(on: server) { remote in
            let manifest = try remote.manifest(10)
            server.suspend()
            let worker = try await remote.run(
                ["prefetch", manifest, "--shard", "0/1", "--stall-timeout", "1s"]
                    + remote.connections, on: "one")
            #expect(worker.status == 1, "\(worker)")
            #expect(remote.origin.count() == 0)
            let run = try await remote.prefetch(manifest, on: "one", ["--stall-timeout", "1s"])
            #expect(run.status == 2 && run.summary.fetched == 10, "\(run.finished)")
            server.resume()
            let next = try await remote.prefetch(manifest, on: "one")
            #expect(next.status == 0 && next.summary.cached == 10, "\(next.finished)")
            try await remote.expectSoundRemote(objects: 10, references: 10)
        }
    }

    @Test(.needsRclone) func aShortPauseOfTheRemoteIsNotAFailure() async throws {
        let server = try await RcloneServer()
        try await withRemote(on: server) { remote in
            let stopped = try Countdown(1)
            let left = Counter(10)
            remote.proxy.misbehave { request, forward in
                // Only once, because further requests may arrive after the server resumes.
                if request.method == "PUT", request.path.contains("/refs/"), left.isUsedUp() {
                    server.suspend()
                    stopped.count()
                }
                return nil
            }
            let (process, report) = try remote.start(
                remote.manifest(Self.count), on: "one", ["--stall-timeout", "1h"])
            try await stopped.wait()
            remote.proxy.misbehave { _, _ in nil }
            server.resume()
            let run = try await RemoteFixture.end(process, report)
            #expect(run.status == 0, "\(run.finished)")
            #expect(try run.remote().pushed == Self.count)
        }
    }

    @Test(.needsRclone) func quietReportsAFailedRemoteInOneLine() async throws {
        try await withRemote { remote in
            remote.proxy.misbehave { request, _ in
                request.method == "PUT" ? .s3Error(403, "AccessDenied") : nil
            }
            let finished = try await remote.run(
                ["prefetch", try remote.manifest(10), "--quiet"] + remote.connections, on: "one")
            #expect(finished.status == 2 && finished.standardOutput.isEmpty, "\(finished)")
            let lines = finished.standardError.split(separator: "\n")
            #expect(lines.count == 1, "\(finished)")
            #expect(
                lines.first?.hasPrefix("larder: 10 not stored in the remote: s3://") == true
                    && lines.first?.contains("AccessDenied") == true, "\(finished)")
        }
    }

    @Test(.needsCeph, arguments: [false, true])
    func aFullBucketIsNotRetried(_ isWorker: Bool) async throws {
        let server = try #require(try await S3ServerKind.ceph.shared() as? CephServer)
        try await withRemote(on: server) { remote in
            let options = isWorker ? ["--shard", "0/1"] : []
            _ = try await remote.prefetch(remote.manifest(10), on: "one", options)
            try await server.setQuota(1000, of: remote.bucket.name)
            let manifest = try remote.manifest(Self.count)
            remote.proxy.origin.resetLog()
            let run = try await remote.prefetch(manifest, on: "one", options)
            #expect(run.status == 2, "\(run.finished)")
            #expect(try run.remote().error?.contains("QuotaExceeded") == true, "\(run.finished)")
            #expect(remote.proxy.count("PUT") <= 16)
            #expect(isWorker || run.summary.fetched == Self.count - 10, "\(run.finished)")
            #expect(try await remote.local("verify", "--quiet", on: "one").status == 0)
            try await server.setQuota(nil, of: remote.bucket.name)
            remote.origin.resetLog()
            let next = try await remote.prefetch(manifest, on: "one", options)
            #expect(next.status == 0, "\(next.finished)")
            #expect(remote.origin.count() == run.summary.unfinished)
            try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
        }
    }

    @Test(.needsRclone, .enabled(if: geteuid() == 0, "mounting a small file system needs root"))
    func aFullDiskLeavesTheRemoteConsistent() async throws {
        let server = try await RcloneServer(capacity: 256 << 10)
        try await withRemote(on: server) { remote in
            let manifest = try remote.manifest(Self.count)
            let run = try await remote.prefetch(manifest, on: "one")
            #expect(run.status == 2 && run.summary.fetched == Self.count, "\(run.finished)")
            #expect(try run.remote().unpushed > 0 && run.remote().error != nil, "\(run.finished)")
            #expect(try await remote.local("verify", "--quiet", on: "one").status == 0)
            // No reference lacks its object.
            try await remote.expectSoundRemote()
        }
    }
}
