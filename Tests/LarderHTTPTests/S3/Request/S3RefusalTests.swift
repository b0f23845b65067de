import LarderHTTP
import LarderTestSupport
import Testing

/// Requests that real servers refuse, and the codes of the errors.
@Suite(.timeLimit(.minutes(30))) struct S3RefusalTests {
    /// Returns the error codes of all operations.
    private func codes(_ bucket: Bucket) async throws -> [RemoteError.Code?] {
        var codes: [RemoteError.Code?] = []
        try await bucket.withStorage { storage in
            codes = [
                try await code { try await storage.put("a", [1]) },
                try await code { _ = try await storage.bytes("a") },
                try await code { _ = try await storage.head("a") },
                try await code { _ = try await storage.list("", after: nil) },
                try await code { try await storage.delete("a") },
            ]
        }
        return codes
    }

    @Test(arguments: S3ServerKind.installed)
    func wrongCredentialsAreRefused(_ kind: S3ServerKind) async throws {
        let bucket = try await Bucket.on(kind)
        try await bucket.withStorage { try await $0.put("a", [1]) }
        let valid = try #require(bucket.credentials)
        let others = [
            S3Credentials(accessKey: valid.accessKey, secretKey: valid.secretKey + "x"),
            S3Credentials(accessKey: "AKIANOBODYATALL", secretKey: valid.secretKey),
        ]
        for other in others {
            let codes = try await codes(bucket.signed(by: other))
            #expect(codes == Array(repeating: .accessRefused, count: 5), "\(other)")
        }
        // None of these requests had an effect.
        try await bucket.withStorage { storage in
            let bytes = try await storage.bytes("a")
            #expect(bytes == [1])
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func unsignedRequestsAreRefused(_ kind: S3ServerKind) async throws {
        let bucket = try await Bucket.on(kind)
        try await bucket.withStorage { try await $0.put("a", [1]) }
        let codes = try await codes(bucket.signed(by: nil))
        // rclone reports an unknown kind of signature.
        let code: RemoteError.Code = kind == .rclone ? .refused : .accessRefused
        #expect(codes == Array(repeating: code, count: 5))
    }

    @Test(arguments: S3ServerKind.installed)
    func requestsToAMissingBucketAreRefused(_ kind: S3ServerKind) async throws {
        var bucket = try await Bucket.on(kind)
        bucket.name += "-not"
        // The response to HEAD has no body, so the missing bucket looks like a missing object.
        #expect(try await codes(bucket) == [.noBucket, .noBucket, nil, .noBucket, .noBucket])
    }

    @Test(arguments: S3ServerKind.installed)
    func serversWithoutRegionsAcceptAnyRegion(_ kind: S3ServerKind) async throws {
        try await Bucket.on(kind).withStorage(region: "eu-central-7") { storage in
            try await storage.put("a", [1])
            #expect(try await storage.bytes("a") == [1])
        }
    }

    /// Ceph compares a body with its digest, as Amazon does. rclone stores the body as received.
    @Test(arguments: S3ServerKind.installed, [5, (1 << 20) + 1])
    func onlyCephRefusesABodyWithAnotherDigest(_ kind: S3ServerKind, _ size: Int) async throws {
        try await Bucket.on(kind).withStorage { storage in
            let right = [UInt8].noise(size)
            var wrong = right
            wrong[size / 2] ^= 1
            let code = try await code {
                try await storage.put("a", RequestBody(wrong), digest: right.digest, mediaType: nil)
            }
            #expect(code == (kind == .ceph ? .corrupt : nil))
            #expect(try await storage.head("a")?.size == (kind == .ceph ? nil : Int64(size)))
        }
    }

    @Test(.enabled(if: CephServer.missing == nil, "\(CephServer.missing ?? "")"))
    func anObjectBeyondTheQuotaIsRefused() async throws {
        let server = try #require(try await S3ServerKind.ceph.shared() as? CephServer)
        let bucket = try await Bucket(of: server)
        try await bucket.withStorage { storage in
            try await storage.put("a", .noise(1000))
            try await server.setQuota(3000, of: bucket.name)
            #expect(try await code { try await storage.put("b", .noise(10_000)) } == .full)
            #expect(try await storage.bytes("a").count == 1000)
        }
    }
}
