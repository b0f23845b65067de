import Foundation
import LarderCache
import LarderCore
import LarderServer
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderServer

/// Reads of large objects, which compare them with their digests before they are served.
@Suite struct ObjectReadingsTests {
    private static let digests = (0..<9).map { Digest(hex: ReferenceSHA256.hex([$0]))! }

    private final class Count: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .relaxed) }
        func add() { count.add(1, ordering: .relaxed) }
    }

    @Test func anObjectIsReadByOneThreadAtATime() {
        let readings = ObjectReadings()
        let digest = Self.digests[0]
        #expect(readings.begin(digest))
        #expect(!readings.begin(digest))
        let retries = Count()
        for _ in 0..<10 {
            readings.wait(for: .init(digest: digest), Client()) { retries.add() }
        }
        #expect(retries.value == 0)
        readings.end(digest)
        #expect(retries.value == 10)
        #expect(readings.begin(digest))
    }

    @Test func oneThreadRemainsForOtherRequests() {
        let readings = ObjectReadings()
        let begun = Self.digests.filter { readings.begin($0) }
        #expect(begun.count == ObjectReadings.threads - 1)
        let retries = Count()
        readings.wait(for: .init(digest: Self.digests[8]), Client()) { retries.add() }
        #expect(retries.value == 0)
        readings.end(begun[0])
        #expect(retries.value == 1)
    }

    @Test func aRequestForAFreeObjectIsRetriedAtOnce() {
        let retries = Count()
        ObjectReadings().wait(for: .init(digest: Self.digests[0]), Client()) { retries.add() }
        #expect(retries.value == 1)
    }

    @Test func aClientThatHasLeftDoesNotWait() {
        let readings = ObjectReadings()
        #expect(readings.begin(Self.digests[0]))
        let client = Client()
        readings.wait(for: .init(digest: Self.digests[0]), client) {}
        #expect(readings.isAwaited(Self.digests[0]))
        #expect(!readings.isAwaited(Self.digests[1]))
        client.leave()
        #expect(!readings.isAwaited(Self.digests[0]))
    }

    private func withReader(
        _ body: (IconStore, StoredObject, _ path: String) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let key = "https://a.example/large"
            let files = try ServerFixture.fill(path, with: [key: noise(2_000_000)])
            let reader = try ServerFixture.icons(path)
            let object = try #require(try reader.cache.resource(key)).object
            try body(reader, object, try #require(files[key]))
        }
    }

    private func expectWhole(
        _ reader: IconStore, _ object: StoredObject, for client: Client
    ) throws {
        let (file, _) = try reader.file(of: object, for: client)
        #expect(file.size == 2_000_000)
    }

    @Test func aReadIsCancelledWithItsOnlyClient() throws {
        try withReader { reader, object, _ in
            let client = Client()
            client.leave()
            #expect(throws: CancellationError.self) {
                _ = try reader.file(of: object, for: client)
            }
            // The cancelled read does not affect the next one.
            try expectWhole(reader, object, for: Client())
        }
    }

    @Test func aReadContinuesForOtherClients() throws {
        try withReader { reader, object, _ in
            let (gone, waiting) = (Client(), Client())
            gone.leave()
            #expect(reader.readings.begin(object.digest))
            reader.readings.wait(for: .init(digest: object.digest), waiting) {}
            #expect(throws: ObjectReadings.BusyError.self) {
                _ = try reader.file(of: object, for: Client())
            }
            reader.readings.end(object.digest)
            try expectWhole(reader, object, for: waiting)
        }
    }

    @Test func repeatedRequestsReadADamagedObjectOnce() throws {
        try withReader { reader, object, path in
            var bytes = noise(2_000_000)
            bytes[1_000_000] ^= 1
            chmod(path, 0o644)
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let first = #expect(throws: CacheError.self) {
                _ = try reader.file(of: object, for: Client())
            }
            #expect(first?.code == .corrupt)
            // A second read would be cancelled, because this client is gone.
            let gone = Client()
            gone.leave()
            let second = #expect(throws: CacheError.self) {
                _ = try reader.file(of: object, for: gone)
            }
            #expect(second?.code == .corrupt)
            // A changed file is read again.
            try Data(noise(2_000_000)).write(to: URL(fileURLWithPath: path))
            try expectWhole(reader, object, for: Client())
        }
    }
}
