import Foundation
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderHTTP

/// A remote with contents that larder did not write, and the data that others can read in it.
@Suite(.timeLimit(.minutes(30))) struct ForeignRemoteTests {
    @Test func sumsOfHugeSizesDoNotOverflow() async throws {
        let storage = SyntheticRemote(resources: 1024, parts: 2, age: 100_000, size: .max)
        let evicted = try await RemoteEvictor(Remote(in: storage)).evict(.init(maximumAge: 50_000))
        #expect(evicted.bytes == .max && evicted.evictedBytes == .max)
        #expect(evicted.expired == 8 && evicted.evictedObjects == 8)
        let verified = try await RemoteVerifier(Remote(in: storage)).verify()
        #expect(verified.bytes == .max && verified.objects == 8)
    }

    /// A server whose listing has a next page forever, each with one foreign name.
    private struct Endless: ObjectStore {
        func subject(_ key: String?) -> String { "s3://endless/\(key ?? "")" }
        func get(
            _ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker
        ) -> String? { nil }
        func head(_ key: String) -> ListedObject? { nil }
        func put(
            _ key: String, _ body: RequestBody, digest: String, mediaType: String?,
            metadata: String?
        ) {}
        func delete(_ key: String) {}

        func list(_ prefix: String, after last: String?) -> ListPage {
            let key = (last ?? prefix) + "!"
            let object = ListedObject(key: key, size: 1, modified: Date())
            return ListPage(objects: [object], next: key)
        }
    }

    @Test func anEndlessListingOfForeignNamesIsMalformed() async throws {
        let remote = try Remote(in: Endless())
        func isExpected(_ error: any Error) -> Bool {
            (error as? RemoteError).map {
                $0.code == .malformed && $0.subject.hasPrefix("s3://endless/objects/sha256/")
            } ?? false
        }
        await #expect(performing: { try await RemoteVerifier(remote).verify() }, throws: isExpected)
        await #expect(
            performing: { try await RemoteEvictor(remote).evict(.init(maximumAge: 0)) },
            throws: isExpected)
    }

    /// A server whose listing has a next page forever, each with one name in larder's layout.
    private final class EndlessNames: ObjectStore {
        private let folder: String
        private let pages = Atomic(0)
        var listed: Int { pages.load(ordering: .relaxed) }

        /// - Parameter folder: The folder that contains the names.
        init(_ folder: String) { self.folder = folder }

        func subject(_ key: String?) -> String { "s3://endless/\(key ?? "")" }
        func get(
            _ key: String, maximumBytes: Int64, into sink: @escaping SinkMaker
        ) throws -> String? {
            throw RemoteError(.notFound, subject: key, "none")
        }
        func head(_ key: String) -> ListedObject? { nil }
        func put(
            _ key: String, _ body: RequestBody, digest: String, mediaType: String?,
            metadata: String?
        ) {}
        func delete(_ key: String) {}

        func list(_ prefix: String, after last: String?) -> ListPage {
            guard prefix.hasPrefix(folder) else { return ListPage(objects: [], next: nil) }
            let number = pages.add(1, ordering: .relaxed).newValue
            let byte = prefix.split(separator: "/").last ?? ""
            let digits = String(number, radix: 16)
            let count = folder == "refs/" ? 64 : 62
            let name = String(repeating: "0", count: count - digits.count) + digits
            let key =
                folder == "refs/"
                ? "\(prefix)\(name)/\(name)" : "\(prefix)\(byte)\(name)"
            return ListPage(
                objects: [ListedObject(key: key, size: 1, modified: Date())], next: key)
        }
    }

    @Test(arguments: ["objects/sha256/", "refs/"])
    func anEndlessListingOfLarderNamesIsTooLarge(folder: String) async throws {
        func isExpected(_ error: any Error) -> Bool {
            (error as? RemoteError).map {
                $0.code == .tooLarge && $0.message.contains("contains more than 20000 names")
            } ?? false
        }
        for width in [1, 16] {
            let storages = [EndlessNames(folder), EndlessNames(folder)]
            let remotes = try storages.map {
                var remote = try Remote(in: $0)
                remote.maximumListed = 20_000
                remote.maximumConcurrent = width
                return remote
            }
            await #expect(
                performing: { try await RemoteVerifier(remotes[0]).verify() }, throws: isExpected)
            await #expect(
                performing: { try await RemoteEvictor(remotes[1]).evict(.init(maximumAge: 1e6)) },
                throws: isExpected)
            // A short page counts as 250 names.
            for storage in storages { #expect(storage.listed <= 20_000 / 250 + width) }
        }
    }

    /// Each pass over all names is counted separately.
    @Test func aListingMayReachTheLimitOfNames() async throws {
        let storage = SyntheticRemote(resources: 2560, age: 100_000)
        var remote = try Remote(in: storage)
        remote.maximumListed = 2560
        let evicted = try await RemoteEvictor(remote).evict(.init(maximumAge: 50_000))
        #expect(evicted.references == 2560 && evicted.objects == 2560)
        let verified = try await RemoteVerifier(remote).verify()
        #expect(verified.references == 2560 && verified.objects == 2560)
        remote.maximumListed = 2559
        await #expect(throws: RemoteError.self) { try await RemoteVerifier(remote).verify() }
    }

    /// The listing continues after pages of foreign names.
    @Test func manyForeignNamesDoNotEndAVerification() async throws {
        let storage = CountedStorage()
        let digest = String(repeating: "ab", count: 32)
        let names = (0..<2500).map { "objects/sha256/ab/a\($0)" } + ["objects/sha256/ab/\(digest)"]
        for name in names {
            try await storage.put(name, RequestBody([1]), digest: "", mediaType: nil)
        }
        let report = try await RemoteVerifier(Remote(in: storage)).verify()
        #expect(report.objects == 1 && report.foreign == 2500)
    }

    /// An object that is longer than its listed size does not end the verification.
    @Test func anObjectLongerThanListedIsCorrupt() async throws {
        let storage = CountedStorage()
        let digest = String(repeating: "ab", count: 32)
        let others = ["00", "ff"].map { "objects/sha256/\($0)/" + String(repeating: $0, count: 32) }
        for key in others + ["objects/sha256/ab/\(digest)"] {
            try await storage.put(key, RequestBody([1]), digest: "", mediaType: nil)
        }
        storage.before { _, key in
            guard key.contains(digest) else { return }
            throw RemoteError(.tooLarge, subject: key, "longer than it is")
        }
        let report = try await RemoteVerifier(Remote(in: storage)).verify()
        #expect(report.counts == [.corrupt: 3])
    }

    /// If an icon has a key, the remote never contains the query of its URL or of a redirect.
    @Test func queriesOfSignedURLsAreMaskedInTheRemote() async throws {
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
            let metadata = try #require(storage.metadata.first)
            let text = String(
                decoding: try #require(Data(base64Encoded: metadata)), as: UTF8.self)
            #expect(text.contains("/b?***") && !text.contains("TOPSECRET"))
            let other = try await prefetch(
                entries: [entry], into: directory.path("2"), storage, .mirror)
            #expect(other.remote?.pulled == 1)
        }
    }
}
