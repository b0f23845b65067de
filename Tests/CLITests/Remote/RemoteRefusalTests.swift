import Foundation
import LarderTestSupport
import Testing

/// Remotes that cannot be used. They are reported before the first request to an origin.
@Suite(.timeLimit(.minutes(30))) struct RemoteRefusalTests {
    @Test(
        arguments: S3ServerKind.installed,
        share(of: [[], ["--shard", "0/1"], ["--remote-read-only"]]))
    func wrongCredentialsEndTheRun(_ kind: S3ServerKind, _ options: [String]) async throws {
        try await withRemote(kind) { remote in
            try await expectRefusal(remote, options, ["AWS_SECRET_ACCESS_KEY": "wrong-secret"]) {
                $0.contains("SignatureDoesNotMatch")
            }
            try await expectRefusal(remote, options, ["AWS_ACCESS_KEY_ID": "AKIANOBODY"]) {
                $0.contains("InvalidAccessKeyId") || $0.contains("AccessDenied")
            }
        }
    }

    @Test(arguments: S3ServerKind.installed) func aMissingBucketEndsTheRun(
        _ kind: S3ServerKind
    ) async throws {
        try await withRemote(kind) { remote in
            try await expectRefusal(remote, ["--remote", "s3://larder-none/shared"], [:]) {
                $0.contains("s3://larder-none/shared") && $0.contains("NoSuchBucket")
            }
        }
    }

    /// A worker without its remote would fetch in vain. Other runs continue without the remote.
    @Test(.needsRclone) func anUnreachableRemoteEndsAWorkerOnly() async throws {
        try await withRemote { remote in
            let unreachable = [
                "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:\(try Origin.refusedPort())"
            ]
            try await expectRefusal(remote, ["--shard", "0/1"], unreachable) {
                $0.contains(remote.bucket.location)
            }
            let run = try await remote.prefetch(
                remote.manifest(10), on: "one", environment: unreachable)
            #expect(run.status == 2 && run.summary.fetched == 10, "\(run.finished)")
            #expect(try run.remote().error?.hasPrefix(remote.bucket.location) == true)
            #expect(try run.remote().unpushed == 10)
        }
    }

    /// Without an endpoint, larder connects to Amazon. A proxy that refuses connections simulates a
    /// missing network.
    @Test(.needsRclone, arguments: [true, false])
    func remoteEndpointIsSuggestedIfAmazonIsUnreachable(_ isAmazon: Bool) async throws {
        try await withRemote { remote in
            let refused = "http://127.0.0.1:\(try Origin.refusedPort())"
            let environment =
                isAmazon
                ? ["AWS_ENDPOINT_URL_S3": "", "AWS_ENDPOINT_URL": "", "https_proxy": refused]
                : ["AWS_ENDPOINT_URL_S3": refused]
            let run = try await remote.run(["verify"], environment: environment)
            #expect(run.status == 1, "\(run)")
            #expect(run.standardError.contains("--remote-endpoint") == isAmazon, "\(run)")
        }
    }

    private func expectRefusal(
        _ remote: RemoteFixture, _ options: [String], _ environment: [String: String],
        saying isRight: (String) -> Bool
    ) async throws {
        remote.origin.resetLog()
        let report = remote.larder.directory.path("report.jsonl")
        let arguments =
            ["prefetch", try remote.manifest(10), "--report", report] + remote.connections
            + (options.contains("--remote") ? [] : ["--remote", remote.bucket.location]) + options
        let finished = try await onThreadOfItsOwn {
            try remote.larder.binary.run(
                arguments + ["--cache", remote.cache("one")],
                environment: remote.environment.merging(environment) { $1 })
        }
        #expect(finished.status == 1, "\(finished)")
        let lines = finished.standardError.split(separator: "\n")
        #expect(lines.count == 1 && isRight(finished.standardError), "\(finished)")
        #expect(!finished.standardError.contains("secret"))
        #expect(remote.origin.count() == 0)
    }

    // MARK: Wrong usage

    private static let here = ["--remote", "s3://icons/shared"]

    @Test(arguments: [
        (["prefetch", "m"] + here + ["--offline"], "--offline cannot be combined with --remote"),
        (["prefetch", "m", "--remote-read-only"], "--remote-read-only needs --remote"),
        (
            ["prefetch", "m"] + here + ["--remote-read-only", "--shard", "0/2"],
            "--remote-read-only and --shard"
        ),
        (["prefetch", "m"] + here + ["--remote-fresh-for", "1h"], "--remote-fresh-for needs"),
        (["prefetch", "m", "--shard", "0/2", "--remote-fresh-for", "1h"], "needs --remote and"),
        (["prefetch", "m", "--remote-endpoint", "http://a.example"], "needs --remote"),
        (["prefetch", "m", "--remote-unsigned"], "--remote-unsigned needs --remote"),
        (
            ["prefetch", "m"] + here + ["--remote-unsigned", "--remote-profile", "a"],
            "cannot be combined"
        ),
        (["prefetch", "m"] + here + ["--remote-concurrent", "0"], "from 1 to 256"),
        (["prefetch", "m"] + here + ["--remote-concurrent", "257"], "from 1 to 256"),
        (["prefetch", "m", "--remote", "https://icons/shared"], "expected s3://BUCKET/PREFIX"),
        (["prefetch", "m", "--remote", "s3://icons//shared"], "single slashes"),
        (["prefetch", "m", "--remote", "s3://I"], "a bucket name"),
        (["prefetch", "m"] + here + ["--remote-endpoint", "ftp://a.example"], "endpoint"),
        (["prefetch", "m"] + here + ["--remote-endpoint", "http://a:b@c.example"], "endpoint"),
        (
            ["prefetch", "m"] + here + ["--remote-profile", "nobody"],
            "the profile 'nobody' does not exist"
        ),
        (["prefetch", "m"] + here, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"),
        (["remote", "pull", "--manifest", "m"], "--remote is missing"),
        (["remote", "pull"] + here + ["--remote-unsigned"], "At least one --manifest"),
        (["remote", "push"], "--remote is missing"),
        (["remote", "verify"], "--remote is missing"),
        (["remote", "evict", "--max-age", "1h"], "--remote is missing"),
        (["remote", "verify"] + here + ["--quick", "--remote-unsigned"], "'--quick'"),
        (["remote", "verify"] + here + ["--manifest", "m", "--remote-unsigned"], "'--manifest'"),
        (["remote", "verify"] + here + ["--sample", "1%", "--remote-unsigned"], "'--sample'"),
        (["remote", "evict"] + here + ["--remote-unsigned"], "'--max-age <time>'"),
        (
            ["remote", "evict", "--max-age", "1h", "--max-size", "1GB", "--remote-unsigned"] + here,
            "'--max-size': it is an option of 'larder evict'"
        ),
        (
            ["remote", "evict", "--max-age", "1h", "--keep", "m", "--remote-unsigned"] + here,
            "'--keep'"
        ),
        // Earlier names of these commands and options.
        (["verify"] + here + ["--repair"], "'--remote': it is an option of 'larder remote verify'"),
        (["verify", "--remote=s3://icons/shared"], "'larder remote verify'"),
        (["verify", "--shard", "0/2"], "'--shard': it is an option of 'larder remote verify'"),
        (["evict", "--max-age", "1h"] + here, "it is an option of 'larder remote evict'"),
        (["evict", "--remote-endpoint", "http://a.example"], "'larder remote evict'"),
        (["evict", "--max-age", "1h", "--shard", "0/2"], "'larder remote evict'"),
    ])
    func wrongUsageOfRemoteOptionsIsRejected(_ arguments: [String], _ hint: String) async throws {
        try await withFixture { larder in
            let finished = try larder.run(
                arguments: arguments,
                environment: [
                    "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
                    "AWS_CONFIG_FILE": "/dev/null",
                    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_ENDPOINT_URL": "",
                    "AWS_ENDPOINT_URL_S3": "",
                ])
            #expect(finished.status == 64, "\(finished)")
            #expect(finished.standardError.contains(hint), "\(finished)")
            #expect(!FileManager.default.fileExists(atPath: larder.cache))
        }
    }
}
