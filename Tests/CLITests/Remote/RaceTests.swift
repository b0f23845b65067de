import Foundation
import LarderCache
import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

/// Who stores in a remote and who evicts from it meet at every place where it matters, held there
/// until the other has done its part.
@Suite(.timeLimit(.minutes(5))) struct RaceTests {
    private let storage = CountedStorage()
    private let origin: Origin
    private let url: String

    init() throws {
        origin = try Origin()
        // Stale at once, so that every run renews its reference.
        let reply = Reply.ok(IconPainter.png(seed: 1)).header("ETag", "\"1\"")
            .header("Cache-Control", "max-age=0")
        origin.on("/a") { request in
            request.header("If-None-Match") == nil
                ? reply
                : Reply.status(304).header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
        }
        url = origin.url("/a")
    }

    private func store(in directory: TemporaryDirectory, _ cache: String) async throws {
        let report = try await prefetch([url], into: directory.path(cache), storage, .fill)
        let remote = try #require(report.remote)
        #expect(remote.pushed == 1 && remote.isComplete)
    }

    private func evict(maximumAge: TimeInterval = 1000) async throws -> RemoteEvictionReport {
        try await RemoteEvictor(Remote(in: storage)).evict(.init(maximumAge: maximumAge))
    }

    private var object: String {
        get throws { try #require(storage.keys.first { $0.hasPrefix("objects/") }) }
    }

    @Test func theReferenceIsWrittenLast() async throws {
        try await withTemporaryDirectory { directory in
            let wasThere = Mutex(false)
            storage.before { [storage] method, key in
                guard method == "PUT", key.hasPrefix("refs/") else { return }
                wasThere.withLock { $0 = storage.keys.contains { $0.hasPrefix("objects/") } }
            }
            try await store(in: directory, "1")
            #expect(wasThere.withLock { $0 })
        }
    }

    /// The object was seen to be there, and is removed before the reference to it is written.
    @Test func anObjectThatIsRemovedBeforeItsReferenceComesIsPutBack() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            let object = try object
            storage.before { [storage] method, key in
                guard method == "PUT", key.hasPrefix("refs/") else { return }
                try await storage.delete(object)
            }
            try await store(in: directory, "1")
            #expect(storage.keys.count == 2 && storage.isWhole)
        }
    }

    /// An eviction has decided to remove the object, and does so after the reference was written and
    /// the object seen to be there.
    @Test func aReferenceThatIsWrittenWhileItsObjectIsRemovedIsTakenBack() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            storage.age(by: 200_000)
            let object = try object
            storage.before { method, key in
                guard method == "DELETE", key == object else { return }
                try await store(in: directory, "1")
            }
            let report = try await evict()
            #expect(report.expired == 1 && report.evictedObjects == 1 && report.undone == 1)
            #expect(storage.keys.isEmpty)
            storage.before(nil)
            try await store(in: directory, "2")
            #expect(storage.keys.count == 2 && storage.isWhole)
        }
    }

    /// The same, if the eviction is killed right after it has removed the object.
    @Test func theNextEvictionTakesBackWhatAKilledOneLeft() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            try await storage.delete(try object)
            #expect(!storage.isWhole)
            #expect(try await evict().undone == 1)
            #expect(storage.keys.isEmpty)
        }
    }

    /// A verification removes an object that it cannot restore, after somebody has written a
    /// reference to it and seen it to be there.
    @Test func aReferenceThatIsWrittenWhileItsObjectIsRepairedIsTakenBack() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            let object = try object
            let size = try #require(try await storage.head(object)?.size)
            // As many bytes, and others.
            try await storage.put(
                object, RequestBody([UInt8](repeating: 0, count: Int(size))), digest: "",
                mediaType: nil)
            let reference = try #require(storage.keys.first { $0.hasPrefix("refs/") })
            storage.before { [storage] method, key in
                guard method == "DELETE", key == object else { return }
                try await storage.put(reference, RequestBody([]), digest: "", mediaType: nil)
            }
            let empty = try Cache.create(at: directory.path("empty"))
            let report = try await RemoteVerifier(Remote(in: storage))
                .verify(repairingFrom: empty)
            #expect(report.counts == [.corrupt: 1] && report.repaired == 1)
            #expect(storage.keys.isEmpty)
        }
    }

    /// The reference was found to be too old, and was renewed before it is removed.
    @Test func aReferenceThatWasRenewedStays() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            storage.age(by: 200_000)
            storage.before { method, key in
                guard method == "HEAD", key.hasPrefix("refs/") else { return }
                try await store(in: directory, "1")
            }
            let report = try await evict()
            #expect(report.expired == 0 && report.evictedObjects == 0)
            #expect(storage.keys.count == 2 && storage.isWhole)
        }
    }

    /// An object is young: its reference may be on its way.
    @Test func aYoungObjectWithoutAReferenceStays() async throws {
        let bytes: [UInt8] = [1, 2, 3]
        let digest = ReferenceSHA256.hex(bytes)
        let key = "objects/sha256/\(digest.prefix(2))/\(digest)"
        try await storage.put(key, RequestBody(bytes), digest: digest, mediaType: nil)
        #expect(try await evict().evictedObjects == 0)
        storage.age(by: 90_000)
        #expect(try await evict().evictedObjects == 1)
    }

    /// Two machines have stored different bytes for one URL at the same time.
    @Test func ofTwoReferencesTheNewerCounts() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            let reference = try #require(storage.keys.first { $0.hasPrefix("refs/") })
            storage.age(by: 100)
            let other = String(reference.dropLast(64)) + String(repeating: "0", count: 64)
            try await storage.put(other, RequestBody([]), digest: "", mediaType: nil)
            storage.age(by: 100)
            // The newer one leads nowhere: it comes from its origin again, and is the only one then.
            try await store(in: directory, "2")
            #expect(origin.count("/a") == 2)
            #expect(storage.isWhole)
        }
    }
}
