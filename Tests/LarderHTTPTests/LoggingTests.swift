import LarderCore
import LarderHTTP
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct LoggingTests {
    @Test func connectionsAndTransfersAreLogged() async throws {
        let origin = try Origin(replies: ["/a": .ok("a"), "/b": .ok("b")])
        let log = CollectedLog()
        try await withClient {
            $0.logger = log.logger
        } _: { client in
            _ = try await client.fetch(origin.url("/a"))
            _ = try await client.fetch(origin.url("/b"))
        }
        let first = try HTTPURL(origin.url("/a"))
        #expect(log.messages("connection opened") == [["origin": "\(first.origin)"]])
        #expect(log.messages("connection closed") == [["origin": "\(first.origin)"]])
        let ended = log.messages("transfer ended")
        #expect(ended.map { $0["connection"] } == ["new", "reused"])
        #expect(ended.first?["url"] == "\(first)")
    }

    @Test func secretsAreNotLogged() async throws {
        let origin = try Origin(replies: ["/a": .ok("a")])
        let log = CollectedLog()
        try await withClient {
            $0.logger = log.logger
        } _: { client in
            let url = origin.url("/a?token=s3cret").replacing(
                "//", with: "//me:s3cret@", maxReplacements: 1)
            _ = try await client.fetch(url, headers: [("X-Key", "s3cret")])
        }
        #expect(!log.messages("transfer ended").isEmpty)
        #expect(!log.lines.joined().contains("s3cret"), "\(log.lines)")
    }

    @Test func retriesOfRemoteRequestsAreLogged() async throws {
        let origin = try Origin()
        origin.onAny { $0.attempt == 1 ? .status(503) : .ok("a") }
        var configuration = TransferConfiguration.allowingAll
        let log = CollectedLog()
        configuration.logger = log.logger
        let settings = S3Settings(
            location: try S3Location("s3://bucket"), endpoint: try HTTPURL(origin.url("/")))
        let bucket = try S3Bucket(
            settings, retry: .ofRemote(base: .milliseconds(1)), transfer: configuration)
        defer { bucket.shutdown() }
        #expect(try await bucket.bytes("a", maximumBytes: 10) == Array("a".utf8))
        let retries = log.messages("request to the remote failed, retrying")
        #expect(retries.map { $0["attempt"] } == ["1"])
    }
}
