import LarderTestSupport
import LarderTestTLS
import Testing

/// The trusted certificate authorities: from an option, else the environment, else the system.
@Suite struct CertificateAuthorityTests {
    @Test(arguments: [
        (["CURL_CA_BUNDLE": TestCertificates.authorityPath], true),
        (["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": TestCertificates.authorityPath], true),
        (["CURL_CA_BUNDLE": TestCertificates.authorityPath, "SSL_CERT_FILE": "/dev/null"], true),
        (["CURL_CA_BUNDLE": "/dev/null", "SSL_CERT_FILE": TestCertificates.authorityPath], false),
        (["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": ""], false),
    ])
    func theEnvironmentNamesTheTrustedAuthorities(
        _ environment: [String: String], _ trusted: Bool
    ) async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in .ok(Icons.icon(1)) }
            let front = try TLSFront(originPort: larder.origin.port)
            let finished = try larder.binary.run(
                larder.prefetchArguments(
                    [try larder.manifest(urls: [front.url("/1")])],
                    report: larder.directory.path("report.jsonl")),
                environment: environment)
            #expect(finished.status == (trusted ? 0 : 2), "\(finished)")
            #expect(finished.standardOutput.contains("\"failed\":\(trusted ? 0 : 1),"))
        }
    }

    @Test func theOptionOverridesTheAuthoritiesOfTheEnvironment() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in .ok(Icons.icon(1)) }
            let front = try TLSFront(originPort: larder.origin.port)
            let finished = try larder.binary.run(
                larder.prefetchArguments(
                    [try larder.manifest(urls: [front.url("/1")])],
                    report: larder.directory.path("report.jsonl"))
                    + ["--ca-cert", TestCertificates.authorityPath],
                environment: ["CURL_CA_BUNDLE": "/dev/null"])
            #expect(finished.status == 0, "\(finished)")
        }
    }

    @Test(arguments: ["CURL_CA_BUNDLE", "SSL_CERT_FILE"])
    func aMissingFileInAVariableExitsWith66(_ name: String) async throws {
        try await withFixture { larder in
            let missing = larder.directory.path("missing")
            let finished = try larder.binary.run(
                ["prefetch", larder.manifest(larder.origin.serveIcons(1)[0])]
                    + ["--cache", larder.cache],
                // CURL_CA_BUNDLE of this machine would take precedence over SSL_CERT_FILE.
                environment: ["CURL_CA_BUNDLE": ""].merging([name: missing]) { $1 })
            #expect(finished.status == 66, "\(finished)")
            #expect(
                finished.standardError
                    == "larder: $\(name): \(missing): No such file or directory\n")
        }
    }
}
