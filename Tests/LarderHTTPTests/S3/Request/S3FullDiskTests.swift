import Foundation
import LarderTestSupport
import Testing

/// A server with a full disk. Its responses only say that the request failed.
@Suite(
    .timeLimit(.minutes(30)),
    .enabled(if: RcloneServer.missing == nil, "\(RcloneServer.missing ?? "")"),
    .enabled(if: RcloneServer.supportsCapacity, "only root can mount a small file system"))
struct S3FullDiskTests {
    @Test func aFullServerKeepsItsObjects() async throws {
        let server = try await RcloneServer(capacity: 1 << 20)
        try await Bucket(of: server).withStorage { storage in
            try await storage.put("a", .noise(300_000))
            let refused = try await code { try await storage.put("b", .noise(2_000_000)) }
            #expect(refused == .unavailable)
            let replaced = try await code { try await storage.put("a", .noise(900_000)) }
            #expect(replaced == .unavailable)
            let keys = try await storage.keys("")
            #expect(keys == ["a"])
            let isSame = try await storage.bytes("a") == .noise(300_000)
            #expect(isSame)
        }
    }
}
