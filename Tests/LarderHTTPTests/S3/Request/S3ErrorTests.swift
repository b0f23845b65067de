import LarderHTTP
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct S3ErrorTests {
    private func error(_ reply: Reply) async throws -> RemoteError? {
        let origin = try Origin()
        origin.onAny { _ in reply }
        var error: RemoteError?
        try await Bucket(at: origin).withStorage(retry: .ofRemote(attempts: 1)) { storage in
            error = await #expect(throws: RemoteError.self) {
                try await storage.put("a", [1])
            }
        }
        return error
    }

    @Test(arguments: [
        (400, "ExpiredToken", RemoteError.Code.accessRefused),
        (400, "InvalidToken", .accessRefused), (403, "AccessDenied", .accessRefused),
        (403, "SignatureDoesNotMatch", .accessRefused), (403, "InvalidAccessKeyId", .accessRefused),
        (403, "RequestTimeTooSkewed", .accessRefused), (401, "", .accessRefused),
        (404, "NoSuchBucket", .noBucket), (404, "NoSuchKey", .notFound), (404, "", .notFound),
        (301, "PermanentRedirect", .wrongRegion), (307, "TemporaryRedirect", .wrongRegion),
        (400, "IllegalLocationConstraintException", .wrongRegion),
        (403, "QuotaExceeded", .full), (507, "XMinioStorageFull", .full), (507, "", .full),
        (400, "BadDigest", .corrupt), (400, "XAmzContentSHA256Mismatch", .corrupt),
        (400, "XAmzContentChecksumMismatch", .corrupt),
        (503, "SlowDown", .unavailable), (503, "", .unavailable), (500, "", .unavailable),
        (500, "InternalError", .unavailable), (429, "", .unavailable),
        (400, "RequestTimeout", .unavailable), (400, "IncompleteBody", .unavailable),
        (409, "OperationAborted", .unavailable), (409, "ConcurrentModification", .unavailable),
        (403, "InvalidObjectState", .refused), (400, "InvalidRequest", .refused),
        (405, "MethodNotAllowed", .refused),
        (501, "NotImplemented", .refused), (412, "PreconditionFailed", .refused),
    ])
    func everyErrorResponseHasACode(
        _ status: Int, _ name: String, _ code: RemoteError.Code
    ) async throws {
        let error = try await error(.s3Error(status, name))
        #expect(error?.code == code)
        #expect(error?.subject == "s3://bucket/a")
        #expect(error?.message.contains("as the test wants it") == true)
        #expect(name.isEmpty || error?.message.contains(name) == true)
    }

    @Test func theRetryAfterOfAnErrorIsAtMostAMinute() async throws {
        let busy = Reply.s3Error(503, "SlowDown")
        #expect(try await error(busy)?.retryAfter == nil)
        #expect(try await error(busy.header("Retry-After", "7"))?.retryAfter == .seconds(7))
        #expect(try await error(busy.header("Retry-After", "86400"))?.retryAfter == .seconds(60))
    }

    /// Amazon sends this error for another region. Other servers send it if they cannot parse the
    /// field.
    @Test func anErrorNamesTheRightRegion() async throws {
        let malformed = Reply.s3Error(400, "AuthorizationHeaderMalformed")
        #expect(try await error(malformed)?.code == .accessRefused)
        let elsewhere = try await error(malformed.header("x-amz-bucket-region", "eu-south-5"))
        #expect(elsewhere?.code == .wrongRegion)
        #expect(elsewhere?.message.contains("'eu-south-5'") == true)
        let inBody = try await error(
            .ok(
                "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-south-5</Region></Error>"
            ).status(400))
        #expect(inBody?.code == .wrongRegion)
        #expect(inBody?.message.contains("'eu-south-5'") == true)
    }

    @Test func malformedErrorResponsesGiveShortPrintableMessages() async throws {
        let noise = String(repeating: "x", count: 100_000)
        let nested = String(repeating: "&#37;a;", count: 1000)
        let replies: [(Reply, Int)] = [
            (
                .ok("<Error><Code>A\u{9b}\u{85}\u{7f}</Code><Message>\(noise)</Message></Error>"),
                418
            ),
            (.ok("<html><body>not here"), 418), (.ok(noise), 418), (.ok(""), 418),
            (.ok("<!DOCTYPE a [<!ENTITY a 'b'>]><Error><Code>&a;</Code></Error>"), 418),
            (.endless(noise.utf8), 418),
            (
                .ok(
                    "<!DOCTYPE a [<!ENTITY % a '<!--x-->'><!ENTITY % b '\(nested)'>%b;]>"
                        + "<Error><Code>NoSuchBucket</Code></Error>"), 418
            ),
            (.ok("<Error" + (0..<5000).map { " a\($0)='1'" }.joined() + "/>"), 418),
            (.ok("<Error>" + (0..<5000).map { "<a\($0)/>" }.joined() + "</Error>"), 418),
            (.ok("<Error><Code>NoSuchBucket</Code>").cut(after: 20), 418),
            (.ok("").header("x-amz-bucket-region", "\u{1b}[2J\(noise.prefix(20_000))"), 301),
        ]
        for (reply, status) in replies {
            let error = try #require(try await error(reply.status(status)))
            #expect(error.code == (status == 301 ? .wrongRegion : .refused))
            #expect(error.message.utf8.count < 2000)
            #expect(!error.message.isEmpty)
            #expect(
                error.message.unicodeScalars.allSatisfy {
                    $0.properties.generalCategory != .control
                })
        }
    }

    /// Only the part of an error response that fits into a message is read.
    @Test func anEndlessErrorResponseIsNotReadToItsEnd() async throws {
        let origin = try Origin()
        origin.onAny { _ in .endless([UInt8](repeating: 32, count: 1 << 16)).status(403) }
        try await Bucket(at: origin).withStorage(retry: .ofRemote(attempts: 1)) { storage in
            let error = await #expect(throws: RemoteError.self) {
                // This limit applies to objects, not to error responses.
                try await storage.bytes("a", maximumBytes: 1 << 40)
            }
            #expect(error?.code == .accessRefused)
        }
    }

    /// A port without a server, and servers that do not speak HTTP.
    @Test func connectionAndProtocolErrorsHaveCodes() async throws {
        var bucket = Bucket(at: try Origin())
        bucket.endpoint = "http://127.0.0.1:\(try Origin.refusedPort())"
        try await bucket.withStorage(retry: .ofRemote(attempts: 1)) { storage in
            let error = await #expect(throws: RemoteError.self) { try await storage.bytes("a") }
            #expect(error?.code == .unavailable)
            #expect(error?.underlying?.code == .connectionRefused)
        }
        #expect(try await error(.raw("SSH-2.0-x\r\n"))?.code == .malformed)
        #expect(try await error(.ok("").hugeHeaders(count: 1000, bytes: 100))?.code == .malformed)
    }
}
