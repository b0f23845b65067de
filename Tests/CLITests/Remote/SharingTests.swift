import Foundation
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct SharingTests {
    @Test(arguments: S3ServerKind.installed)
    func aSecondMachineSendsNoRequestToTheOrigins(_ kind: S3ServerKind) async throws {
        try await withRemote(kind) { remote in
            let manifest = try remote.manifest(40)
            let first = try await remote.prefetch(manifest, on: "one")
            #expect(first.status == 0 && first.summary.fetched == 40, "\(first.finished)")
            #expect(try first.remote().pushed == 40)
            #expect(remote.origin.count() == 40)
            remote.origin.resetLog()

            let second = try await remote.prefetch(manifest, on: "two")
            #expect(second.status == 0 && second.summary.pulled == 40, "\(second.finished)")
            #expect(try second.remote().pushed == 0)
            try await remote.expectIcons(40, on: "two")

            let pull = ["pull", "--manifest", manifest, "--json"]
            let pulled = try await remote.run(pull, on: "three")
            #expect(pulled.status == 0, "\(pulled)")
            #expect(try PrefetchRun.summary(of: pulled).pulled == 40)
            try await remote.expectIcons(40, on: "three")
            remote.proxy.origin.resetLog()
            let again = try await remote.run(pull, on: "three")
            #expect(try PrefetchRun.summary(of: again).cached == 40)
            #expect(remote.proxy.count("GET", "/objects/") == 0)
            #expect(remote.origin.count() == 0)
            try await remote.expectSoundRemote(objects: 40, references: 40)
        }
    }

    @Test(.needsRclone) func pullReportsIconsMissingFromTheRemote() async throws {
        try await withRemote { remote in
            _ = try await remote.prefetch(remote.manifest(10), on: "one")
            remote.origin.resetLog()
            let more = try remote.manifest(12)
            let pull = try await remote.run(["pull", "--manifest", more, "--json"], on: "two")
            #expect(pull.status == 2, "\(pull)")
            let summary = try PrefetchRun.summary(of: pull)
            #expect(summary.pulled == 10 && summary.failures == ["not-in-remote": 2])
            #expect(remote.origin.count() == 0)
            // They are not recorded as failures, so the next prefetch asks the origins.
            let run = try await remote.prefetch(more, on: "two")
            #expect(run.status == 0 && run.summary.fetched == 2, "\(run.finished)")
        }
    }

    @Test(.needsRclone) func pullReportsTheReasonOfEachFailure() async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(3)
            _ = try await remote.prefetch(manifest, on: "one")
            try await remote.bucket.put(RemoteName.object(Icons.icon(1)), Icons.icon(2))
            try await remote.bucket.delete(RemoteName.object(Icons.icon(2)))
            let pull = ["pull", "--manifest", manifest]
            let finished = try await remote.run(pull + ["--json"], on: "two")
            #expect(finished.status == 2)
            let summary = try PrefetchRun.summary(of: finished)
            let faults = ["remote-corrupt": 1, "remote-not-found": 1]
            #expect(summary.pulled == 1 && summary.failures == faults, "\(finished)")
            #expect(summary.remote?.faults == faults)
            let text = try await remote.run(pull, on: "two").standardOutput
            #expect(text.contains(": already cached 1, failed 2, in "), "\(text)")
            #expect(text.contains("\n  failed, remote-corrupt: 1\n"), "\(text)")
            let large = try await remote.run(
                pull + ["--json", "--max-object-size", "1"], on: "three")
            let failures = try PrefetchRun.summary(of: large).failures
            #expect(failures == ["remote-too-large": 3], "\(large)")
            // A directory occupies the path of an object.
            let digest = ReferenceSHA256.hex(Icons.icon(0))
            try FileManager.default.createDirectory(
                atPath: remote.cache("four") + "/objects/sha256/\(digest.prefix(2))/\(digest)",
                withIntermediateDirectories: true)
            let obstructed = try await remote.run(pull + ["--json"], on: "four")
            let reasons = try PrefetchRun.summary(of: obstructed).failures
            #expect(reasons == faults.merging(["obstructed": 1]) { $1 }, "\(obstructed)")
            // None of these failures is recorded.
            try await remote.bucket.put(RemoteName.object(Icons.icon(1)), Icons.icon(1))
            try await remote.bucket.put(RemoteName.object(Icons.icon(2)), Icons.icon(2))
            #expect(try await remote.run(pull, on: "two").status == 0)
            try await remote.expectIcons(3, on: "two")
        }
    }

    @Test(.needsRclone) func forceAsksTheOriginsInsteadOfTheRemote() async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(3)
            _ = try await remote.prefetch(manifest, on: "one")
            remote.origin.resetLog()
            let run = try await remote.prefetch(manifest, on: "two", ["--force"])
            #expect(run.status == 0 && run.summary.fetched == 3, "\(run.finished)")
            #expect(remote.origin.count() == 3)
            try await remote.expectIcons(3, on: "two")
        }
    }

    @Test(.needsRclone) func statusShowsTheLastPushAndPull() async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(3)
            _ = try await onThreadOfItsOwn {
                try remote.larder.binary.run(
                    ["prefetch", manifest, "--cache", remote.cache("one")] + remote.connections)
            }
            let push = try await remote.run(["push"], on: "one")
            #expect(push.standardOutput.contains("/shared: pushed 3 ("), "\(push)")
            let again = try await remote.run(["push"], on: "one")
            #expect(again.standardOutput.contains(": already there 3, in "))
            _ = try await remote.run(["pull", "--manifest", manifest], on: "two")
            let one = try await remote.local("status", "--json", on: "one")
            let two = try await remote.local("status", "--json", on: "two")
            #expect(one.standardOutput.contains(#""command":"push""#), "\(one)")
            #expect(two.standardOutput.contains(#""command":"pull""#), "\(two)")
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func pushUploadsCachedIcons(_ kind: S3ServerKind) async throws {
        try await withRemote(kind) { remote in
            let manifest = try remote.manifest(30)
            let alone = try await onThreadOfItsOwn {
                try remote.larder.binary.run(
                    ["prefetch", manifest, "--cache", remote.cache("one")] + remote.connections)
            }
            #expect(alone.status == 0, "\(alone)")
            remote.origin.resetLog()
            let ten = try await remote.run(
                ["push", "--json", "--manifest", try remote.manifest(10)], on: "one")
            #expect(try PrefetchRun.summary(of: ten).remote?.pushed == 10, "\(ten)")
            let rest = try await remote.run(["push", "--json"], on: "one")
            #expect(try PrefetchRun.summary(of: rest).remote?.pushed == 20, "\(rest)")
            let nothing = try await remote.run(["push", "--json"], on: "one")
            #expect(nothing.status == 0)
            let report = try #require(try PrefetchRun.summary(of: nothing).remote)
            #expect(report.pushed == 0 && report.present == 30, "\(nothing)")
            let other = try await remote.prefetch(manifest, on: "two")
            #expect(other.status == 0 && other.summary.pulled == 30, "\(other.finished)")
            #expect(remote.origin.count() == 0)
        }
    }

    /// Stale icons are pulled too. Their origins get conditional requests only.
    @Test(.needsRclone) func staleIconsAreRevalidatedAndTheirReferencesRenewed() async throws {
        try await withRemote { remote in
            remote.serve("max-age=0")
            let manifest = try remote.manifest(20)
            _ = try await remote.prefetch(manifest, on: "one")
            let reference = RemoteName.reference(RemoteFixture.url(3), to: Icons.icon(3))
            let old = try #require(try await remote.bucket.get(reference))
            remote.origin.resetLog()
            remote.proxy.origin.resetLog()
            let run = try await remote.prefetch(manifest, on: "two")
            #expect(run.status == 0 && run.summary.revalidated == 20, "\(run.finished)")
            #expect(try run.remote().pulled == 20 && run.remote().pushed == 20)
            let requests = remote.origin.requests
            #expect(requests.count == 20)
            #expect(requests.allSatisfy { $0.header("If-None-Match") == "\"\($0.path)\"" })
            #expect(remote.proxy.count("PUT", "/refs/") == 20)
            #expect(remote.proxy.count("PUT", "/objects/") == 0)
            let new = try #require(try await remote.bucket.get(reference))
            #expect(try fetchedAt(new) > fetchedAt(old))
            try await remote.expectIcons(20, on: "two")
        }
    }

    private func fetchedAt(_ reference: [UInt8]) throws -> Double {
        let object = try JSONSerialization.jsonObject(with: Data(reference)) as? [String: Any]
        return try #require(object?["fetched_at"] as? Double)
    }

    @Test(.needsRclone) func aChangedIconReplacesTheOldReference() async throws {
        try await withRemote { remote in
            let url = RemoteFixture.url(1)
            remote.origin.on("/1") { request in
                Icons.reply(1000 + request.attempt).header("Cache-Control", "max-age=0")
            }
            let manifest = try remote.larder.manifest(url)
            _ = try await remote.prefetch(manifest, on: "one")
            _ = try await remote.prefetch(manifest, on: "two")
            #expect(
                try await remote.bucket.keys(RemoteName.references(url))
                    == [RemoteName.reference(url, to: Icons.icon(1002))])
            let finished = try await remote.run(
                ["evict", "--max-age", "1h", "--grace", "0s", "--json"])
            let report = try JSONValue.lines(finished.standardOutputBytes)[0]
            #expect(report["evicted_objects"]?.integer == 1, "\(finished)")
            try await remote.expectSoundRemote(objects: 1, references: 1)
        }
    }

    @Test(.needsRclone) func aReadOnlyRemoteIsNotWrittenTo() async throws {
        try await withRemote { remote in
            _ = try await remote.prefetch(remote.manifest(10), on: "one")
            remote.proxy.origin.resetLog()
            let run = try await remote.prefetch(
                remote.manifest(20), on: "two", ["--remote-read-only"])
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.summary.pulled == 10 && run.summary.fetched == 10)
            #expect(Set(remote.proxy.origin.requests.map(\.method)) == ["GET"])
            #expect(try await remote.bucket.keys("").count == 20)
        }
    }

    /// A worker reads every reference, except those younger than `--remote-fresh-for`.
    @Test(.needsRclone) func aWorkerSkipsReferencesYoungerThanRemoteFreshFor() async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(20)
            _ = try await remote.prefetch(manifest, on: "one", ["--shard", "0/1"])
            remote.origin.resetLog()
            for (name, options, references) in [
                ("two", [], 20), ("three", ["--remote-fresh-for", "1h"], 0),
                ("four", ["--remote-fresh-for", "0s"], 20),
                ("five", ["--remote-fresh-for", "1h", "--revalidate", "always"], 20),
            ] {
                remote.proxy.origin.resetLog()
                let run = try await remote.prefetch(
                    manifest, on: name, ["--shard", "0/1"] + options)
                #expect(run.status == 0, "\(run.finished)")
                #expect(remote.proxy.count("GET", "/shared/refs/") == references, "\(name)")
                if name == "five" { continue }
                #expect(run.summary.shared == 20, "\(run.finished)")
                #expect(remote.proxy.count("GET", "/objects/") == 0)
                #expect(remote.proxy.count("PUT") == 0)
                #expect(remote.origin.count() == 0)
            }
            // `--revalidate always` sends requests for fresh icons too.
            #expect(remote.origin.count() == 20)
        }
    }

    /// Responses marked `private` or `no-store` stay on the machine. So do responses to requests
    /// with credentials, unless they are marked `public`.
    @Test(.needsRclone) func privateResponsesAreNotShared() async throws {
        try await withRemote { remote in
            func reply(_ control: String) -> @Sendable (Request) -> Reply {
                { RemoteFixture.reply($0, control) }
            }
            remote.origin.on("/1", reply("private, max-age=60"))
            remote.origin.on("/2", reply("max-age=60"))
            remote.origin.on("/3", reply("public, max-age=60"))
            remote.origin.on("/4", reply("max-age=60"))
            remote.origin.on("/5", reply("no-store"))
            func host(_ user: String, _ number: Int) -> String {
                "http://\(user)h\(number).example/\(number)"
            }
            let urls = [
                host("", 1), host("me:password@", 2), host("me:password@", 3), host("", 4),
                host("", 5), host("", 6),
            ]
            let run = try await remote.prefetch(
                try remote.larder.manifest(urls: urls), on: "one",
                ["--header", "h4.example: Cookie: a=secret", "--store-anyway"])
            #expect(run.status == 0, "\(run.finished)")
            #expect(try run.remote().personal == 4 && run.remote().pushed == 2)
            let shared = [RemoteFixture.url(3), RemoteFixture.url(6)].map(RemoteName.name)
            #expect(try await remote.bucket.names() == Set(shared))
            #expect(try await remote.bucket.keys("objects/").count == 2)
            for key in try await remote.bucket.keys("refs/") {
                let text = String(decoding: try await remote.bucket.get(key) ?? [], as: UTF8.self)
                #expect(!text.contains("password") && !text.contains("secret"))
            }
            let push = try await remote.run(["push", "--json"], on: "one")
            #expect(try PrefetchRun.summary(of: push).remote?.pushed == 0, "\(push)")
            #expect(try await remote.bucket.names() == Set(shared))
        }
    }
}
