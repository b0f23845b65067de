import Foundation
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct S3ServerTests {
    @Test(.enabled(if: RcloneServer.missing == nil, "\(RcloneServer.missing ?? "")"))
    func rcloneStoresObjects() async throws { try await checkObjects(.rclone) }

    @Test(.enabled(if: CephServer.missing == nil, "\(CephServer.missing ?? "")"))
    func cephStoresObjects() async throws { try await checkObjects(.ceph) }

    private func checkObjects(_ kind: S3ServerKind) async throws {
        let server = try await kind.shared()
        let proxy = try MisbehavingProxy(to: server.endpoint)
        let url = "\(proxy.endpoint)/\(try await server.makeBucket())/a/b"
        #expect(
            try await curl(server, "--request", "PUT", "--data-binary", "@-", url, input: "what")
                .status == 0)
        #expect(try await curl(server, url).standardOutput == "what")
        #expect(proxy.count("PUT") == 1 && proxy.count("GET", "/a/b") == 1)

        proxy.misbehave { request, forward in forward(request).flipped(at: 3) }
        #expect(try await curl(server, url).standardOutput == "whau")
        proxy.misbehave { _, _ in .slowDown }
        #expect(try await curl(server, url).standardOutput.contains("<Code>SlowDown</Code>"))
        proxy.misbehave { _, _ in .lost }
        // CURLE_RECV_ERROR
        #expect(try await curl(server, url).status == 56)
        proxy.misbehave { _, _ in nil }
        #expect(try await curl(server, user: "somebody:else", url).status == 22)
    }

    private func curl(
        _ server: any S3Server, user: String? = nil, _ arguments: String..., input: String? = nil
    ) async throws -> Finished {
        try await onThreadOfItsOwn {
            try RunningProcess(
                "/usr/bin/curl",
                [
                    "--disable", "--silent", "--fail-with-body", "--noproxy", "*",
                    "--aws-sigv4", "aws:amz:us-east-1:s3",
                    "--user", user ?? "\(server.accessKey):\(server.secretKey)",
                    "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                ] + arguments, standardInput: input.map { Data($0.utf8) }
            ).wait()
        }
    }

    @Test(.enabled(if: RcloneServer.missing == nil, "\(RcloneServer.missing ?? "")"))
    func aSuspendedServerAnswersOnlyAfterItResumes() async throws {
        let server = try await RcloneServer()
        let bucket = try await server.makeBucket()
        server.suspend()
        async let put = curl(
            server, "--request", "PUT", "--data-binary", "@-", "\(server.endpoint)/\(bucket)/a",
            input: "what")
        let hasTimedOut = try await curl(
            server, "--max-time", "0.3", "\(server.endpoint)/\(bucket)/b")
        #expect(hasTimedOut.status == 28)
        server.resume()
        #expect(try await put.status == 0)
        server.stop()
        #expect(try await curl(server, server.endpoint).status == 7)
    }

    @Test(.enabled(if: CephServer.missing == nil, "\(CephServer.missing ?? "")"))
    func cephEnforcesBucketQuotas() async throws {
        let server = try #require(try await S3ServerKind.ceph.shared() as? CephServer)
        let bucket = try await server.makeBucket()
        let url = "\(server.endpoint)/\(bucket)/a"
        let text = String(repeating: "what", count: 1000)
        try await server.setQuota(1000, of: bucket)
        let refused = try await curl(
            server, "--request", "PUT", "--data-binary", "@-", url, input: text)
        #expect(refused.standardOutput.contains("<Code>QuotaExceeded</Code>"))
        try await server.setQuota(nil, of: bucket)
        #expect(
            try await curl(server, "--request", "PUT", "--data-binary", "@-", url, input: text)
                .status == 0)
    }
}
