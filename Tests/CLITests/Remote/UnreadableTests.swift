import Foundation
import LarderCache
import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import Testing

/// A remote that fails to read some of its objects.
@Suite(.timeLimit(.minutes(30))) struct UnreadableTests {
    private let storage = CountedStorage()
    private let origin: Origin

    init() throws {
        origin = try Origin()
        for number in 0..<30 {
            origin.on("/\(number)", .ok(IconPainter.png(seed: number)))
        }
    }

    private func fill(_ cache: String) async throws {
        let urls = (0..<30).map { origin.url("/\($0)") }
        #expect(try await prefetch(urls, into: cache, storage, .mirror).remote?.pushed == 30)
    }

    private func failReads(where isUnreadable: @escaping @Sendable (String) -> Bool) {
        storage.before { method, key in
            guard method == "GET", isUnreadable(key) else { return }
            throw RemoteError(.unavailable, subject: key, "InternalError")
        }
    }

    @Test func anUnreadableObjectIsAFindingAndTheRestAreVerified() async throws {
        try await withTemporaryDirectory { directory in
            try await fill(directory.path("cache"))
            let bad = try #require(storage.keys.first { $0.hasPrefix("objects/") })
            failReads { $0 == bad }
            let verifier = RemoteVerifier(try Remote(in: storage))
            let found = try await verifier.verify()
            #expect(found.objects == 30 && !found.isSound)
            #expect(found.counts == [.unreadable: 1])
            #expect(found.findings.first?.references == 1)
            #expect(found.findings.first?.repair == nil)

            let cache = try Cache.open(at: directory.path("cache"))
            #expect(try await verifier.verify(repairingFrom: cache).repaired == 1)
            // An unreadable object that the cache cannot replace is kept.
            let empty = try Cache.create(at: directory.path("empty"))
            #expect(try await verifier.verify(repairingFrom: empty).repaired == 0)
            #expect(storage.keys.count == 60)
        }
    }

    @Test func manyUnreadableObjectsInARowEndTheVerification() async throws {
        try await withTemporaryDirectory { directory in
            try await fill(directory.path("cache"))
            failReads { _ in true }
            let verifier = RemoteVerifier(try Remote(in: storage))
            await #expect(throws: RemoteError.self) { try await verifier.verify() }
        }
    }
}
