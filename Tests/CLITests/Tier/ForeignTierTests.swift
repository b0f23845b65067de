import LarderKit
import LarderS3
import LarderTestSupport
import LarderTransfer
import Synchronization
import Testing

/// What others say in a remote, and what they read there.
@Suite(.timeLimit(.minutes(5))) struct ForeignTierTests {
    /// Sizes whose sum is no number.
    @Test func sizesThatNothingHas() async throws {
        let tier = SyntheticTier(resources: 1024, parts: 2, age: 100_000, size: .max)
        let evicted = try await RemoteEvictor(Remote(in: tier)).evict(.init(maximumAge: 50_000))
        #expect(evicted.bytes == .max && evicted.evictedBytes == .max)
        #expect(evicted.expired == 8 && evicted.evictedObjects == 8)
        let verified = try await RemoteVerifier(Remote(in: tier)).verify()
        #expect(verified.bytes == .max && verified.objects == 8)
    }

    /// An object that is longer than the store said is one that is wrong, not the end.
    @Test func anObjectWithoutEnd() async throws {
        let storage = CountedStorage()
        let digest = String(repeating: "ab", count: 32)
        let others = ["00", "ff"].map { "objects/sha256/\($0)/" + String(repeating: $0, count: 32) }
        for key in others + ["objects/sha256/ab/\(digest)"] {
            try await storage.put(key, RequestBody([1]), digest: "", mediaType: nil)
        }
        storage.before { _, key in
            guard key.contains(digest) else { return }
            throw StorageError(.tooLarge, subject: key, "longer than it is")
        }
        let report = try await RemoteVerifier(Remote(in: storage)).verify()
        #expect(report.counts == [.corrupt: 3])
    }

    /// If an icon has a key, nothing in the remote tells the query of its URL.
    @Test func aSignedURLThatRedirects() async throws {
        let storage = CountedStorage()
        let origin = try Origin()
        origin.on("/a") { _ in
            .status(301).header("Location", "/b?signature=TOPSECRET")
        }
        origin.on("/b", .ok(IconPainter.png(seed: 1)).header("Cache-Control", "max-age=60"))
        try await withTemporaryDirectory { directory in
            let entry = ["icon": origin.url("/a?signature=TOPSECRET"), "key": "one"]
            let report = try await prefetch(
                entries: [entry], into: directory.path("1"), storage, .mirror)
            #expect(report.remote?.pushed == 1)
            for key in storage.keys where key.hasPrefix("refs/") {
                let text = String(
                    decoding: try await storage.bytes(key, maximumBytes: 10_000), as: UTF8.self)
                #expect(text.contains("/b?***") && !text.contains("TOPSECRET"))
            }
            let other = try await prefetch(
                entries: [entry], into: directory.path("2"), storage, .mirror)
            #expect(other.remote?.pulled == 1)
        }
    }
}
