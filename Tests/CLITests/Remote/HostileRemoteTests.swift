import Foundation
import LarderTestSupport
import Testing

/// A remote that other programs have changed. Its contents are never trusted: the icon comes from
/// its origin, and the remote is repaired.
@Suite(.timeLimit(.minutes(30))) struct HostileRemoteTests {
    private static let victim = 3
    private static var url: String { RemoteFixture.url(victim) }
    private static var icon: [UInt8] { Icons.icon(victim) }
    private static var object: String { RemoteName.object(icon) }
    private static var reference: String { RemoteName.reference(url, to: icon) }

    /// Fills a remote, damages it with `harm`, and expects one fault with this code.
    private func expectFault(
        _ code: String, in subject: String, _ kind: S3ServerKind = .rclone,
        harm: (RemoteFixture) async throws -> Void
    ) async throws {
        try await withRemote(kind) { remote in
            let manifest = try remote.manifest(10)
            _ = try await remote.prefetch(manifest, on: "one")
            try await harm(remote)
            remote.origin.resetLog()
            let run = try await remote.prefetch(manifest, on: "two")
            #expect(run.status == 0, "\(run.finished)")
            let report = try run.remote()
            #expect(report.faults == [code: 1], "\(run.finished)")
            let first = "\(remote.bucket.location)/\(subject): "
            #expect(report.firstFault?.hasPrefix(first) == true, "\(run.finished)")
            #expect(report.firstFault?.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } == true)
            #expect(report.error == nil && report.pushed == 1 && report.unpushed == 0)
            #expect(run.summary.pulled == 9 && run.summary.fetched == 1)
            #expect(remote.origin.requests.map(\.path) == ["/\(Self.victim)"])
            // The request is not conditional: the reference's validators are not used.
            #expect(remote.origin.requests.allSatisfy { $0.header("If-None-Match") == nil })
            try await remote.expectIcons(10, on: "two")

            #expect(try await remote.bucket.get(Self.object) == Self.icon)
            let next = try await remote.prefetch(manifest, on: "three")
            #expect(next.summary.pulled == 10, "\(next.finished)")
            #expect(try next.remote().faults.isEmpty)
            #expect(remote.origin.count() == 1)
            try await remote.expectSoundRemote(objects: 10, references: 10)
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func anObjectWithOtherBytesIsNotStored(_ kind: S3ServerKind) async throws {
        try await expectFault("remote-corrupt", in: Self.object, kind) { remote in
            try await remote.bucket.put(Self.object, Icons.icon(1))
        }
    }

    @Test(.needsRclone) func anObjectWithAFlippedBitIsNotStored() async throws {
        try await expectFault("remote-corrupt", in: Self.object) { remote in
            var bytes = Self.icon
            bytes[bytes.count / 2] ^= 1
            try await remote.bucket.put(Self.object, bytes)
        }
    }

    @Test(.needsRclone) func aMissingObjectIsFetchedFromItsOrigin() async throws {
        try await expectFault("remote-not-found", in: Self.object) { remote in
            try await remote.bucket.delete(Self.object)
        }
    }

    @Test(.needsRclone) func anObjectDamagedInTransitIsNotStored() async throws {
        try await expectFault("remote-corrupt", in: Self.object) { remote in
            remote.proxy.origin.resetLog()
            remote.proxy.misbehave { request, forward in
                request.method == "GET" && request.path.hasSuffix(Self.object)
                    && request.attempt == 1
                    ? forward(request).flipped(at: 10) : nil
            }
        }
    }

    /// Stores the object again without metadata, which would contain a copy of the reference.
    private func forgetMetadata(_ remote: RemoteFixture) async throws {
        try await remote.bucket.put(Self.object, Self.icon)
    }

    private static let malformed: [(name: String, text: String)] = [
        ("another key", #"{"key":"key:other","url":"URL","size":SIZE,TIMES}"#),
        ("another URL", #"{"url":"http://h3.example/27","size":SIZE,TIMES}"#),
        ("a line break in the ETag", #"{"url":"URL","size":SIZE,"etag":"\"a\"\r\nX: b",TIMES}"#),
        (
            "an escape sequence in the media type",
            #"{"url":"URL","size":SIZE,"media_type":"\u001b[31m",TIMES}"#
        ),
        ("a negative size", #"{"url":"URL","size":-1,TIMES}"#),
        ("a huge size", #"{"url":"URL","size":9223372036854775807,TIMES}"#),
        ("a huge time", #"{"url":"URL","size":SIZE,"fetched_at":1e300,"fresh_until":0}"#),
        ("no times", #"{"url":"URL","size":SIZE}"#),
        ("a number instead of a string", #"{"url":"URL","size":SIZE,"etag":7,TIMES}"#),
        ("an invalid response URL", #"{"url":"URL","size":SIZE,"response_url":"file:///",TIMES}"#),
        ("not JSON", "not \u{1B}[31mJSON"), ("empty", ""),
        ("deeply nested", String(repeating: "[", count: 60_000)),
    ]

    @Test(.needsRclone, arguments: share(of: malformed.map(\.name)))
    func aMalformedReferenceIsNotUsed(_ name: String) async throws {
        let now = Date().timeIntervalSince1970
        let text = Self.malformed.first { $0.name == name }?.text ?? ""
        let reference = text.replacingOccurrences(of: "URL", with: Self.url)
            .replacingOccurrences(of: "SIZE", with: "\(Self.icon.count)")
            .replacingOccurrences(
                of: "TIMES", with: "\"fetched_at\":\(now),\"fresh_until\":\(now + 9999)")
        try await expectFault("remote-malformed", in: Self.reference) { remote in
            try await forgetMetadata(remote)
            try await remote.bucket.put(Self.reference, reference.utf8)
        }
    }

    @Test(.needsRclone) func anOversizedReferenceIsNotRead() async throws {
        try await expectFault("remote-too-large", in: Self.reference) { remote in
            try await forgetMetadata(remote)
            try await remote.bucket.put(
                Self.reference, Array(repeating: UInt8(ascii: " "), count: 3 << 20))
        }
    }

    @Test(.needsRclone) func maxObjectSizeAppliesToPulledObjects() async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(10)
            _ = try await remote.prefetch(manifest, on: "one")
            let run = try await remote.prefetch(
                manifest, on: "two", ["--max-object-size", "100"])
            #expect(run.summary.pulled == 0, "\(run.finished)")
            #expect(run.summary.failures == ["too-large": 10], "\(run.finished)")
        }
    }

    /// rclone does this after a name was written and removed at the same time.
    @Test(.needsRclone) func aListingMayContainANameTwice() async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(30)
            _ = try await remote.prefetch(manifest, on: "one")
            remote.proxy.misbehave { request, forward in
                guard request.target.contains("list-type") else { return nil }
                return forward(request).rewritten { text in
                    text.components(separatedBy: "<Contents>").enumerated().map { place, part in
                        place % 3 == 1
                            ? part.components(separatedBy: "</Contents>")[0]
                                + "</Contents><Contents>" + part
                            : part
                    }.joined(separator: "<Contents>")
                }
            }
            let run = try await remote.prefetch(manifest, on: "two")
            #expect(run.status == 0 && run.summary.pulled == 30, "\(run.finished)")
            try await remote.expectSoundRemote(objects: 30, references: 30)
        }
    }

    @Test(.needsRclone) func foreignObjectsInTheRemoteAreKept() async throws {
        try await withRemote { remote in
            let names = [
                "refs/zz/name", "refs/\(String(repeating: "0", count: 64))",
                "objects/sha256/ab/abc",
                RemoteName.references(Self.url) + "UPPER", "README",
                RemoteName.object(Icons.icon(1)) + ".tmp",
            ]
            for name in names { try await remote.bucket.put(name, "foreign".utf8) }
            let run = try await remote.prefetch(remote.manifest(10), on: "one")
            #expect(run.status == 0, "\(run.finished)")
            #expect(try run.remote().faults.isEmpty && run.remote().pushed == 10)
            // Only foreign names in larder's folders count, and each is counted by one worker.
            var counts: [Int] = []
            for options in [[], ["--shard", "0/2"], ["--shard", "1/2"]] {
                let verify = try await remote.run(["verify", "--json"] + options)
                let report = try JSONValue.lines(verify.standardOutputBytes)[0]
                counts.append(report["foreign"]?.integer ?? 0)
            }
            #expect(counts[0] == 3 && counts[1] + counts[2] == 3, "\(counts)")
            let evict = try await remote.run(["evict", "--max-age", "0s", "--grace", "0s"])
            #expect(evict.status == 0, "\(evict)")
            #expect(try await remote.bucket.keys("") == names.sorted())
        }
    }
}
