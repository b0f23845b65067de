import LarderHTTP
import LarderTestSupport
import Testing

/// The header fields and targets of requests. Tests with real servers check the signatures.
@Suite(.timeLimit(.minutes(30))) struct S3SignatureTests {
    let origin: Origin

    init() throws {
        origin = try Origin()
        origin.onAny { request in
            request.target.contains("list-type")
                ? .ok(Listing().xml)
                : .ok("").header("Last-Modified", "Wed, 25 Nov 2026 02:17:07 GMT")
        }
    }

    private func requests(
        _ credentials: S3Credentials?, prefix: String = "p"
    ) async throws -> [Request] {
        try await Bucket(at: origin).signed(by: credentials).withStorage(
            prefix: prefix, region: "xx-west-9", connections: 1
        ) { storage in
            try await storage.put("a", [1, 2, 3])
            _ = try await storage.bytes("a")
            _ = try await storage.head("a")
            _ = try await storage.list("refs/0", after: "refs/01~")
            try await storage.delete("a")
        }
        return origin.requests
    }

    @Test func requestsOfASessionHaveItsToken() async throws {
        let credentials = S3Credentials(
            accessKey: "AKIA", secretKey: "s3cr3t", sessionToken: "t0ken/+=")
        let requests = try await requests(credentials)
        #expect(requests.map(\.method) == ["PUT", "GET", "HEAD", "GET", "DELETE"])
        for request in requests {
            #expect(request.header("x-amz-security-token") == "t0ken/+=")
            let authorization = try #require(request.header("Authorization"))
            #expect(authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIA/"))
            #expect(authorization.contains("/xx-west-9/s3/aws4_request"))
            let checksum = request.method == "PUT" ? "x-amz-checksum-sha256;" : ""
            #expect(
                authorization.contains(
                    "SignedHeaders=host;\(checksum)x-amz-content-sha256;x-amz-date;"
                        + "x-amz-security-token,"))
            #expect(request.headers.count { $0.name.lowercased() == "x-amz-security-token" } == 1)
            #expect(!request.headers.contains { $0.value.contains("s3cr3t") })
        }
        #expect(Set(requests.map(\.connection)) == [1])
    }

    @Test func requestsWithoutASessionHaveNoToken() async throws {
        let requests = try await requests(S3Credentials(accessKey: "AKIA", secretKey: "secret"))
        for request in requests {
            #expect(request.header("x-amz-security-token") == nil)
            #expect(request.header("Accept-Encoding") == nil)
            let digest = request.method == "PUT" ? [1, 2, 3] : [UInt8]()
            #expect(request.header("x-amz-content-sha256") == ReferenceSHA256.hex(digest))
            #expect(request.header("Content-Length") == (request.method == "PUT" ? "3" : nil))
            #expect(request.header("Transfer-Encoding") == nil)
        }
        #expect(
            requests.map(\.target) == [
                "/bucket/p/a", "/bucket/p/a", "/bucket/p/a",
                "/bucket?list-type=2&max-keys=1000&prefix=p%2Frefs%2F0&start-after=p%2Frefs%2F01~",
                "/bucket/p/a",
            ])
    }

    @Test func unsignedRequestsHaveNoAuthorization() async throws {
        for request in try await requests(nil) {
            #expect(request.header("Authorization") == nil)
            let names = request.headers.map { $0.name.lowercased() }
            let expected = request.method == "PUT" ? ["x-amz-checksum-sha256"] : []
            #expect(names.filter { $0.hasPrefix("x-amz") } == expected)
        }
    }

    /// Buckets with object lock refuse uploads without a checksum. The values are from
    /// `printf … | openssl dgst -sha256 -binary | base64`.
    @Test(arguments: [
        ("", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
        ("icon", "wtS0RqRM5U+rjgEVDiTdJPPYUMfBTc/jH2MhNB3YaHQ="),
    ])
    func uploadsHaveAChecksum(_ text: String, _ checksum: String) async throws {
        try await Bucket(at: origin).withStorage { try await $0.put("a", Array(text.utf8)) }
        let request = try #require(origin.requests.first)
        #expect(request.header("x-amz-checksum-sha256") == checksum)
        #expect(request.header("Authorization")?.contains(";x-amz-checksum-sha256;") == true)
    }

    /// If user and password are given as one text, libcurl splits it at the first colon.
    @Test func anAccessKeyWithColonsIsNotSplit() async throws {
        let credentials = S3Credentials(accessKey: "account:user:1", secretKey: "a:b")
        for request in try await requests(credentials) {
            let authorization = try #require(request.header("Authorization"))
            #expect(
                authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=account:user:1/"),
                "\(authorization)")
        }
    }

    @Test func anEndpointCanHaveAPath() async throws {
        for path in ["/base", "/base/"] {
            origin.resetLog()
            var bucket = Bucket(at: origin)
            bucket.endpoint += path
            try await bucket.withStorage { storage in
                try await storage.put("a", [])
                _ = try await storage.list("", after: nil)
            }
            #expect(
                origin.requests.map(\.target) == [
                    "/base/bucket/a", "/base/bucket?list-type=2&max-keys=1000&prefix=",
                ])
        }
    }

    @Test func metadataIsSignedAndReturned() async throws {
        origin.on("/bucket/a", .ok("a").header("X-Amz-Meta-Larder-Reference", "dGhlaXJz"))
        try await Bucket(at: origin).withStorage { storage in
            try await storage.put(
                "a", RequestBody([1]), digest: [1].digest, mediaType: nil, metadata: "b3Vycw==")
            let metadata = try await storage.get("a", maximumBytes: 1) { _ in { _ in true } }
            #expect(metadata == "dGhlaXJz")
        }
        let request = try #require(origin.requests.first)
        #expect(request.header("x-amz-meta-larder-reference") == "b3Vycw==")
        #expect(
            request.header("Authorization")?.contains(";x-amz-meta-larder-reference,") == true)
    }

    @Test func theMediaTypeIsSigned() async throws {
        try await Bucket(at: origin).withStorage { storage in
            try await storage.put(
                "a", RequestBody([1]), digest: [1].digest, mediaType: "image/svg+xml")
        }
        let request = try #require(origin.requests.first)
        #expect(request.header("Content-Type") == "image/svg+xml")
        #expect(
            request.header("Authorization")?.contains("SignedHeaders=content-type;host;") == true)
    }
}
