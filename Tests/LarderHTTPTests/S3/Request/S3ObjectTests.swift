import Foundation
import LarderHTTP
import LarderTestSupport
import Testing

/// Objects on real servers, which check every signature.
@Suite(.timeLimit(.minutes(30))) struct S3ObjectTests {
    @Test(arguments: S3ServerKind.installed)
    func objectsAreStoredReplacedAndDeleted(_ kind: S3ServerKind) async throws {
        let began = Date()
        try await Bucket.on(kind).withStorage(prefix: "some/prefix") { storage in
            let key = "refs/07/abc/def"
            #expect(try await storage.head(key) == nil)
            #expect(try await code { _ = try await storage.bytes(key) } == .notFound)
            try await storage.delete(key)

            try await storage.put(key, Array("first".utf8))
            try await storage.put(key, Array("second one".utf8))
            #expect(try await storage.bytes(key) == Array("second one".utf8))
            let head = try #require(try await storage.head(key))
            #expect(head.key == key && head.size == 10)
            // Times have whole seconds, and the server uses the same clock.
            #expect(head.modified > began - 2 && head.modified < Date() + 2)
            let listed = try #require(try await storage.list("", after: nil).objects.first)
            #expect(listed.key == key && listed.size == 10)
            #expect(abs(listed.modified.timeIntervalSince(head.modified)) < 1)

            try await storage.delete(key)
            #expect(try await storage.head(key) == nil)
            #expect(try await storage.list("", after: nil).objects.isEmpty)
        }
    }

    /// From 1 MiB at the latest, libcurl waits for `100 Continue`.
    @Test(arguments: S3ServerKind.installed, [0, 1, 1 << 20, (1 << 20) + 1])
    func objectsCanHaveAnySize(_ kind: S3ServerKind, _ size: Int) async throws {
        try await Bucket.on(kind).withStorage { storage in
            let bytes = [UInt8].noise(size)
            try await storage.put("a", bytes)
            let isSame = try await storage.bytes("a") == bytes
            #expect(isSame)
            #expect(try await storage.head("a")?.size == Int64(size))
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func objectsAreStoredFromFiles(_ kind: S3ServerKind) async throws {
        try await withTemporaryDirectory { directory in
            let bytes = [UInt8].noise(20 << 20)
            try Data(bytes).write(to: URL(fileURLWithPath: directory.path("body")))
            let file = try FileHandle(
                forReadingFrom: URL(fileURLWithPath: directory.path("body")))
            let descriptor = file.fileDescriptor
            let body = RequestBody(count: Int64(bytes.count)) { offset, buffer in
                let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                return count < 0 ? nil : count
            }
            try await Bucket.on(kind).withStorage { storage in
                try await storage.put("a", body, digest: bytes.digest, mediaType: "image/png")
                let isSame = try await storage.bytes("a") == bytes
                #expect(isSame)
            }
            try file.close()
        }
    }

    /// rclone keeps metadata in memory and can lose it.
    @Test(arguments: S3ServerKind.installed)
    func objectsCanHaveMetadata(_ kind: S3ServerKind) async throws {
        try await Bucket.on(kind).withStorage { storage in
            let metadata = Data([UInt8].noise(1100)).base64EncodedString()
            try await storage.put(
                "a", RequestBody([1]), digest: [1].digest, mediaType: "image/png",
                metadata: metadata)
            let found = try await storage.get("a", maximumBytes: 1) { _ in { _ in true } }
            #expect(found == metadata || kind == .rclone && found == nil)
            try await storage.put("a", [2])
            let none = try await storage.get("a", maximumBytes: 1) { _ in { _ in true } }
            #expect(none == nil)
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func objectsLargerThanTheLimitAreRefused(_ kind: S3ServerKind) async throws {
        let bucket = try await Bucket.on(kind)
        try await bucket.withStorage { storage in
            try await storage.put("a", .noise(100_000))
            for limit: Int64 in [0, 1, 99_999] {
                #expect(
                    try await code { _ = try await storage.bytes("a", maximumBytes: limit) }
                        == .tooLarge)
            }
            #expect(try await storage.bytes("a", maximumBytes: 100_000).count == 100_000)
            // The limit does not apply to error responses.
            #expect(
                try await code { _ = try await storage.bytes("b", maximumBytes: 1) } == .notFound)
        }
        var absent = bucket
        absent.name += "-not"
        try await absent.withStorage { storage in
            let code = try await code { _ = try await storage.bytes("a", maximumBytes: 1) }
            #expect(code == .noBucket)
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func aSinkCanPauseOrStopADownload(_ kind: S3ServerKind) async throws {
        struct Enough: Error {}
        try await Bucket.on(kind).withStorage { storage in
            let bytes = [UInt8].noise(300_000)
            try await storage.put("a", bytes)
            let slow = SlowSink()
            try await storage.get("a", maximumBytes: 1 << 20, into: slow.make)
            let isSame = slow.bytes == bytes
            #expect(isSame)
            #expect(slow.pauses > 1)
            await #expect(throws: Enough.self) {
                try await storage.get("a", maximumBytes: 1 << 20) { _ in { _ in throw Enough() } }
            }
            await #expect(throws: Enough.self) {
                try await storage.get("a", maximumBytes: 1 << 20) { _ in throw Enough() }
            }
        }
    }
}
