import Foundation
import LarderTestSupport
import Testing

/// Races between processes that store in a remote and evict from it. The proxy holds a request at
/// each critical point. No reference may be left without its object.
@Suite(.timeLimit(.minutes(30))) struct RemoteRaceTests {
    private static let url = RemoteFixture.url(5)
    private static let object = RemoteName.object(Icons.icon(5))
    private static let reference = RemoteName.reference(url, to: Icons.icon(5))
    /// Without a grace period, new objects are evicted too.
    private static let evict = ["evict", "--max-age", "1h", "--grace", "0s", "--json"]

    /// Holds a request before it reaches the server.
    private func hold(
        _ method: String, _ key: String, in remote: RemoteFixture
    ) throws -> (arrived: Countdown, gate: Gate) {
        let (arrived, gate) = (try Countdown(1), try Gate())
        remote.proxy.misbehave { request, _ in
            guard request.method == method, request.path.hasSuffix(key) else { return nil }
            arrived.count()
            gate.wait()
            return nil
        }
        return (arrived, gate)
    }

    /// Fills a machine's cache with one icon, without the remote.
    private func cacheIcon(_ remote: RemoteFixture) async throws {
        let finished = try await onThreadOfItsOwn {
            try remote.larder.binary.run(
                ["prefetch", try remote.larder.manifest(Self.url), "--cache", remote.cache("one")]
                    + remote.connections)
        }
        #expect(finished.status == 0, "\(finished)")
    }

    /// An eviction removes a new object because it sees no reference. The push then writes the
    /// reference, finds the object missing, and uploads it again.
    @Test(.needsRclone) func anObjectEvictedBeforeItsReferenceIsWrittenIsRestored() async throws {
        try await withRemote { remote in
            try await cacheIcon(remote)
            let (arrived, gate) = try hold("PUT", Self.reference, in: remote)
            let push = try remote.command(["push", "--json"], on: "one")
            try await arrived.wait()
            #expect(try await remote.bucket.get(Self.object) != nil)
            let evicted = try await remote.run(Self.evict)
            #expect(try integer(evicted, "evicted_objects") == 1)
            #expect(try await remote.bucket.get(Self.object) == nil)
            gate.open()
            let pushed = try await onThreadOfItsOwn { try push.wait() }
            #expect(pushed.status == 0, "\(pushed)")
            try await remote.expectSoundRemote(objects: 1, references: 1)
        }
    }

    /// A push finds an object and writes a reference to it while an eviction is about to remove the
    /// object. After the removal, the eviction looks for new references.
    @Test(.needsRclone, arguments: [true, false])
    func aReferenceWrittenWhileItsObjectIsEvictedIsRemoved(_ endsThere: Bool) async throws {
        try await withRemote { remote in
            try await cacheIcon(remote)
            try await remote.bucket.put(Self.object, Icons.icon(5))
            let (arrived, gate) = try hold("DELETE", Self.object, in: remote)
            let evict = try remote.command(Self.evict)
            try await arrived.wait()
            let pushed = try await remote.run(["push", "--json"], on: "one")
            #expect(pushed.status == 0, "\(pushed)")
            #expect(try await remote.bucket.get(Self.reference) != nil)
            gate.open()
            let evicted = try await onThreadOfItsOwn { try evict.wait() }
            #expect(evicted.status == 0, "\(evicted)")
            #expect(try integer(evicted, "evicted_objects") == 1)
            #expect(try integer(evicted, "undone") == 1)
            try await remote.expectSoundRemote(objects: 0, references: 0)
            // The machine's next run uploads the icon again from its cache.
            if endsThere { return }
            remote.origin.resetLog()
            let manifest = try remote.larder.manifest(Self.url)
            let run = try await remote.prefetch(manifest, on: "one")
            #expect(run.status == 0 && remote.origin.count() == 0, "\(run.finished)")
            try await remote.expectSoundRemote(objects: 1, references: 1)
        }
    }

    /// The eviction is killed before it looks for new references. The reference without an object
    /// does no harm to a prefetch, and the next eviction removes it.
    @Test(.needsRclone) func aReferenceLeftByAKilledEvictionIsHarmless() async throws {
        try await withRemote { remote in
            try await cacheIcon(remote)
            try await remote.bucket.put(Self.object, Icons.icon(5))
            let (arrived, removed) = (try Countdown(1), try Countdown(1))
            let (gate, end) = (try Gate(), try Gate())
            remote.proxy.misbehave { request, forward in
                guard request.method == "DELETE" else { return nil }
                arrived.count()
                gate.wait()
                let reply = forward(request)
                removed.count()
                end.wait()
                return reply
            }
            let evict = try remote.command(Self.evict)
            try await arrived.wait()
            let pushed = try await remote.run(["push"], on: "one")
            #expect(pushed.status == 0, "\(pushed)")
            gate.open()
            try await removed.wait()
            evict.kill(SIGKILL)
            end.open()
            remote.proxy.misbehave { _, _ in nil }
            let verified = try await remote.run(["verify", "--json"])
            #expect(verified.status == 2, "\(verified)")
            #expect(try integer(verified, "missing") == 1)
            let run = try await remote.prefetch(
                remote.larder.manifest(Self.url), on: "two", ["--remote-read-only"])
            #expect(run.status == 0 && run.summary.fetched == 1, "\(run.finished)")
            #expect(try run.remote().faults == ["remote-not-found": 1])
            let evicted = try await remote.run(Self.evict)
            #expect(try integer(evicted, "undone") == 1, "\(evicted)")
            try await remote.expectSoundRemote(objects: 0, references: 0)
        }
    }

    @Test(.needsRclone) func anInterruptedEvictionStillLooksForNewReferences() async throws {
        try await withRemote { remote in
            try await cacheIcon(remote)
            try await remote.bucket.put(Self.object, Icons.icon(5))
            let (arrived, gate) = try hold("DELETE", Self.object, in: remote)
            let evict = try remote.command(Self.evict)
            try await arrived.wait()
            _ = try await remote.run(["push"], on: "one")
            evict.kill(SIGINT)
            gate.open()
            let evicted = try await onThreadOfItsOwn { try evict.wait() }
            // The eviction may have ended before the signal.
            #expect([0, 130].contains(evicted.status), "\(evicted)")
            try await remote.expectSoundRemote()
        }
    }

    /// The reference is the commit. A push killed before it leaves at most an object.
    @Test(.needsRclone, arguments: ["/objects/", "/refs/"])
    func aKilledPushLeavesNoReferenceWithoutObject(_ stage: String) async throws {
        try await withRemote { remote in
            try await cacheIcon(remote)
            let (arrived, gate) = (try Countdown(1), try Gate())
            remote.proxy.misbehave { request, _ in
                guard request.method == "PUT", request.path.contains(stage) else { return nil }
                arrived.count()
                gate.wait()
                return .lost
            }
            let push = try remote.command(["push"], on: "one")
            try await arrived.wait()
            push.kill(SIGKILL)
            gate.open()
            try await remote.expectSoundRemote(
                objects: stage == "/refs/" ? 1 : 0, references: 0)
        }
    }

    private func integer(_ finished: Finished, _ name: String) throws -> Int? {
        try JSONValue.lines(finished.standardOutputBytes).last?[name]?.integer
    }
}
