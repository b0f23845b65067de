import Foundation
import LarderTestSupport
import Testing

/// `docs/output.md`, compared with the output of commands that use a remote.
@Suite(
    .timeLimit(.minutes(30)),
    .enabled(if: RcloneServer.missing == nil, "\(RcloneServer.missing ?? "")"))
struct RemoteOutputTests {
    private let document: OutputDocument

    init() throws { document = try OutputDocument() }

    @Test func remoteOutputIsDocumented() async throws {
        let server = try await S3ServerKind.rclone.shared()
        let proxy = try MisbehavingProxy(to: server.endpoint)
        let bucket = try await server.makeBucket()
        let remote = ["--remote", "s3://\(bucket)/a", "--remote-endpoint", proxy.endpoint]
        let environment = [
            "AWS_ACCESS_KEY_ID": server.accessKey, "AWS_SECRET_ACCESS_KEY": server.secretKey,
        ]
        try await withFixture { larder in
            func json(_ arguments: [String], in cache: String) throws -> [String: JSONValue] {
                let finished = try larder.binary.run(
                    arguments + remote + ["--json", "--cache", larder.directory.path(cache)],
                    environment: environment)
                return try #require(
                    JSONValue.lines(finished.standardOutputBytes).first, "\(finished)")
            }
            let urls = (1...3).map { larder.origin.url("/\($0)") }
            for number in 1...3 { larder.origin.on("/\(number)", Icons.reply(number)) }
            let manifest = try larder.manifest(urls: urls)
            let prefetch = ["prefetch", manifest, "--allow-private-network"]

            var runs = [try json(prefetch, in: "first")]
            proxy.misbehave { request, forward in
                // Damages objects, but not references.
                request.method == "GET" && request.target.contains("/objects/")
                    ? forward(request).flipped(at: 3) : forward(request)
            }
            runs.append(try json(["remote", "pull", "--manifest", manifest], in: "second"))
            let findings = try json(["remote", "verify"], in: "first")
            let repaired = try json(["remote", "verify", "--repair"], in: "first")
            proxy.misbehave { _, _ in .slowDown }
            runs.append(try json(prefetch, in: "third"))
            proxy.misbehave { _, _ in nil }
            let evicted = try json(
                ["remote", "evict", "--max-age", "0", "--grace", "0"], in: "first")

            let reports = runs.compactMap { $0["remote"]?.object }
            #expect(reports.count == 3)
            try document.compare(reports, with: "prefetch --json", "key of remote")
            try document.compare([findings, repaired], with: "remote verify --json", "key")
            let list = [findings, repaired].flatMap { $0["findings"]?.array ?? [] }
            try document.compare(
                list.compactMap(\.object), with: "remote verify --json", "key of a finding")
            try document.compare([evicted], with: "remote evict --json", "key")
        }
    }
}
