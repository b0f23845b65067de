import Foundation
import LarderTestSupport
import Testing

/// `remote push` with invalid options.
@Suite struct RemotePushTests {
    private static let remote = [
        "--remote", "s3://none", "--remote-endpoint", "http://127.0.0.1:9", "--remote-unsigned",
    ]

    @Test(arguments: [["--icon-key", "foo"], ["--entries", "a.b"], ["--max-entries", "1"]])
    func manifestOptionsRequireAManifest(_ options: [String]) async throws {
        try await withFixture { larder in
            let finished = try larder.run(arguments: ["remote", "push"] + options + Self.remote)
            #expect(finished.status == 64)
            #expect(finished.standardError.contains("require --manifest"))
        }
    }

    @Test(arguments: ["127.0.0.1:9000", "ftp://h/", "http://u:p@h/", "http://h/?a"])
    func anInvalidEndpointIsRefused(_ endpoint: String) async throws {
        try await withFixture { larder in
            let finished = try larder.run(
                "remote", "push", "--remote", "s3://none", "--remote-endpoint", endpoint,
                "--remote-unsigned")
            #expect(finished.status == 64)
            #expect(finished.standardError.contains("the endpoint"))
            #expect(!finished.standardError.contains("u:p"))
        }
    }
}
