import LarderTestSupport
import LarderTestTLS
import Testing

/// Failures that are specific to HTTP/2.
@Suite struct HTTP2Tests {
    @Test func connectionsClosedWithGOAWAYAreReplaced() async throws {
        try await withFixture { larder in
            larder.origin.onAny { .ok(Icons.icon($0.path.hashValue & 0xFFFF)) }
            let front = try TLSFront(originPort: larder.origin.port)
            front.goAwayAfter(7)
            let urls = (0..<100).map { front.url("/\($0)") }
            let run = try larder.prefetch(
                try larder.manifest(urls: urls),
                options: ["--ca-cert", TestCertificates.authorityPath])
            #expect(run.outcomes.allSatisfy { $0 == "fetched" }, "\(run.finished)")
            #expect(front.protocols.count > 10)
            #expect(front.protocols.allSatisfy { $0 == "h2" })
        }
    }

    @Test func requestsWithResetStreamsAreRetried() async throws {
        try await withFixture { larder in
            larder.origin.onAny { request in
                let reply = Reply.ok(Icons.icon(request.path.hashValue & 0xFFFF))
                // TLSFront resets the stream of a response that is cut off.
                return request.attempt < 3 ? reply.cut(after: 10) : reply
            }
            let front = try TLSFront(originPort: larder.origin.port)
            let urls = (0..<20).map { front.url("/\($0)") }
            let run = try larder.prefetch(
                try larder.manifest(urls: urls),
                options: ["--ca-cert", TestCertificates.authorityPath])
            #expect(run.outcomes.allSatisfy { $0 == "fetched" }, "\(run.finished)")
            #expect(try (1...20).allSatisfy { try run.line($0).attempts == 3 })
        }
    }

    @Test func aStreamThatIsAlwaysResetFailsOnlyItsIcon() async throws {
        try await withFixture { larder in
            larder.origin.onAny { .ok(Icons.icon($0.path.hashValue & 0xFFFF)) }
            let front = try TLSFront(originPort: larder.origin.port)
            front.resetStream(path: "/3")
            let run = try larder.prefetch(
                try larder.manifest(urls: (0..<10).map { front.url("/\($0)") }),
                options: ["--ca-cert", TestCertificates.authorityPath])
            #expect(run.status == 2)
            #expect(run.outcomes.count { $0 == "fetched" } == 9, "\(run.finished)")
            #expect(try run.line(4).error?.code == "connection-lost")
            #expect(try run.line(4).attempts == 5)
        }
    }
}
