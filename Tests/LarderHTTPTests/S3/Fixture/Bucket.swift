import Foundation
import LarderCore
import LarderHTTP
import LarderTestSupport

import struct Crypto.SHA256

/// A bucket that only one test uses.
struct Bucket: Sendable {
    var endpoint: String
    var name: String
    var credentials: S3Credentials?

    /// Creates an empty bucket on the shared server.
    static func on(_ kind: S3ServerKind) async throws -> Bucket {
        try await Bucket(of: kind.shared())
    }

    /// Creates an empty bucket.
    init(of server: any S3Server) async throws {
        endpoint = server.endpoint
        name = try await server.makeBucket()
        credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
    }

    /// Creates a bucket at an origin that plays the server.
    init(at origin: Origin) {
        endpoint = origin.baseURL
        name = "bucket"
        credentials = S3Credentials(accessKey: "AKIA", secretKey: "secret")
    }

    /// Returns the same bucket behind a proxy.
    func through(_ proxy: MisbehavingProxy) -> Bucket {
        var bucket = self
        bucket.endpoint = proxy.endpoint
        return bucket
    }

    /// Returns the same bucket with other credentials.
    func signed(by credentials: S3Credentials?) -> Bucket {
        var bucket = self
        bucket.credentials = credentials
        return bucket
    }

    func withStorage(
        prefix: String = "", region: String = "us-east-1", connections: Int = 16,
        retry: RetryPolicy = .ofRemote(base: .milliseconds(1)),
        transfer configure: ((inout TransferConfiguration) -> Void)? = nil,
        _ body: (S3Bucket) async throws -> Void
    ) async throws {
        var configuration = TransferConfiguration()
        configure?(&configuration)
        let storage = try S3Bucket(
            S3Settings(
                location: S3Location("s3://\(name)/\(prefix)"), endpoint: HTTPURL(endpoint),
                region: region, credentials: credentials),
            connections: connections, retry: retry, transfer: configuration)
        defer { storage.shutdown() }
        try await body(storage)
    }
}

extension S3Bucket {
    func put(_ key: String, _ bytes: [UInt8]) async throws {
        try await put(key, RequestBody(bytes), digest: bytes.digest, mediaType: nil)
    }

    func bytes(_ key: String) async throws -> [UInt8] {
        try await bytes(key, maximumBytes: 64 << 20)
    }

    /// Returns all keys with a prefix, from all pages.
    func keys(_ prefix: String, after last: String? = nil) async throws -> [String] {
        var keys: [String] = []
        var last = last
        repeat {
            let page = try await list(prefix, after: last)
            keys += page.objects.map(\.key)
            last = page.next
        } while last != nil
        return keys
    }

    /// Stores a small object for each key, 16 at a time.
    func fill(_ keys: [String]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, key) in keys.enumerated() {
                if place >= 16 { try await group.next() }
                group.addTask { try await self.put(key, Array(key.utf8)) }
            }
            try await group.waitForAll()
        }
    }
}

extension [UInt8] {
    var digest: String {
        SHA256.hash(data: self).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            .joined()
    }

    static func noise(_ count: Int) -> [UInt8] { LarderTestSupport.noise(count, seed: 1) }
}

/// Returns the code of the error that `body` throws.
func code(_ body: () async throws -> Void) async throws -> RemoteError.Code? {
    do {
        try await body()
        return nil
    } catch let error as RemoteError {
        return error.code
    }
}
