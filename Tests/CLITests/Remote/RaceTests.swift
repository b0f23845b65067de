import Foundation
import LarderCache
import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

/// Races between writers and evictions of a remote. A hook stops one of them at each critical point
/// until the other is done.
@Suite(.timeLimit(.minutes(30))) struct RaceTests {
    private let storage = CountedStorage()
    private let origin: Origin
    private let url: String

    init() throws {
        origin = try Origin()
        // Stale at once, so every run renews its reference.
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

    @Test func theReferenceIsWrittenAfterItsObject() async throws {
        try await withTemporaryDirectory { directory in
            let objectExisted = Mutex(false)
            storage.before { [unowned storage] method, key in
                guard method == "PUT", key.hasPrefix("refs/") else { return }
                objectExisted.withLock { $0 = storage.keys.contains { $0.hasPrefix("objects/") } }
            }
            try await store(in: directory, "1")
            #expect(objectExisted.withLock { $0 })
        }
    }

    /// The writer found the object, but it is removed before the writer stores the reference.
    @Test func anObjectRemovedBeforeItsReferenceIsWrittenIsRestored() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            let object = try object
            storage.before { [unowned storage] method, key in
                guard method == "PUT", key.hasPrefix("refs/") else { return }
                try await storage.delete(object)
            }
            try await store(in: directory, "1")
            #expect(storage.keys.count == 2 && storage.isConsistent)
        }
    }

    /// An eviction has decided to remove the object. Before it does so, a writer finds the object
    /// and stores its reference.
    @Test func aReferenceWrittenWhileItsObjectIsEvictedIsRemoved() async throws {
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
            #expect(storage.keys.count == 2 && storage.isConsistent)
        }
    }

    /// An eviction that is killed right after the removal leaves a reference without an object.
    @Test func theNextEvictionRemovesReferencesLeftByAKilledOne() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            try await storage.delete(try object)
            #expect(!storage.isConsistent)
            #expect(try await evict().undone == 1)
            #expect(storage.keys.isEmpty)
        }
    }

    /// A verification removes an object that it cannot restore, after a writer has found the object
    /// and stored a reference to it.
    @Test func aReferenceWrittenWhileItsObjectIsRepairedIsRemoved() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            let object = try object
            let size = try #require(try await storage.head(object)?.size)
            // The size is the same, the content is not.
            try await storage.put(
                object, RequestBody([UInt8](repeating: 0, count: Int(size))), digest: "",
                mediaType: nil)
            let reference = try #require(storage.keys.first { $0.hasPrefix("refs/") })
            storage.before { [unowned storage] method, key in
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

    /// An eviction finds that the reference is too old. A writer renews it before the removal.
    @Test func aRenewedReferenceIsNotEvicted() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            storage.age(by: 200_000)
            defer { storage.before(nil) }
            storage.before { method, key in
                guard method == "HEAD", key.hasPrefix("refs/") else { return }
                try await store(in: directory, "1")
            }
            let report = try await evict()
            #expect(report.expired == 0 && report.evictedObjects == 0)
            #expect(storage.keys.count == 2 && storage.isConsistent)
        }
    }

    /// A writer stores the object first, so its reference may not be written yet.
    @Test func aYoungObjectWithoutReferenceIsNotEvicted() async throws {
        let bytes: [UInt8] = [1, 2, 3]
        let digest = ReferenceSHA256.hex(bytes)
        let key = "objects/sha256/\(digest.prefix(2))/\(digest)"
        try await storage.put(key, RequestBody(bytes), digest: digest, mediaType: nil)
        #expect(try await evict().evictedObjects == 0)
        storage.age(by: 90_000)
        #expect(try await evict().evictedObjects == 1)
    }

    /// Two machines stored different bytes for one URL at the same time.
    @Test func theNewerOfTwoReferencesIsUsed() async throws {
        try await withTemporaryDirectory { directory in
            try await store(in: directory, "1")
            let reference = try #require(storage.keys.first { $0.hasPrefix("refs/") })
            storage.age(by: 100)
            let other = String(reference.dropLast(64)) + String(repeating: "0", count: 64)
            try await storage.put(other, RequestBody([]), digest: "", mediaType: nil)
            storage.age(by: 100)
            // The newer reference has no object, so it is replaced and the icon is fetched again.
            try await store(in: directory, "2")
            #expect(origin.count("/a") == 2)
            #expect(storage.isConsistent)
        }
    }
}
