import Foundation
import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

/// The numbers of requests in `docs/remote.md`, compared with the requests that larder makes.
@Suite(.timeLimit(.minutes(60))) struct ScaleTests {
    private let document: OutputDocument
    private let icons = 40

    init() throws { document = try OutputDocument("remote") }

    @Test func requestsForEachIconAreAsDocumented() async throws {
        let table = try document.table("Requests and limits", "for each icon")
        let storage = CountedStorage()
        let origin = try Origin()
        let version = Mutex(0)
        for number in 0..<icons {
            origin.on("/\(number)") { request in
                let version = version.withLock { $0 }
                let icon = IconPainter.png(seed: number + 1000 * version)
                let reply =
                    request.header("If-None-Match") == "\"\(version)\""
                    ? Reply.status(304) : .ok(icon)
                return reply.header("ETag", "\"\(version)\"")
                    .header("Cache-Control", version < 2 ? "max-age=3600" : "max-age=0")
            }
        }
        try await withTemporaryDirectory { directory in
            func expect(_ row: String, _ requests: CountedStorage.Requests) {
                func cell(_ column: String) -> Int? {
                    table.cell(row, column).flatMap { Int($0) }.map { $0 * icons }
                }
                #expect(requests.put == cell("PUT"), "\(row): PUT")
                #expect(requests.get == cell("GET, HEAD"), "\(row): GET, HEAD")
                #expect(requests.delete == cell("DELETE"), "\(row): DELETE")
            }
            func run(
                _ cache: String, _ use: Remote.Use, freshFor: Duration? = nil
            ) async throws -> Report {
                let urls = (0..<icons).map { origin.url("/\($0)") }
                return try await prefetch(
                    urls, into: directory.path(cache), storage, use, freshFor: freshFor)
            }

            #expect(try await run("1", .fill).count(.fetched) == icons)
            expect("downloaded and stored", storage.takeRequests())
            #expect(try await run("2", .fill).count(.shared) == icons)
            expect("fresh according to its reference", storage.takeRequests())
            #expect(try await run("3", .fill, freshFor: .seconds(1800)).count(.shared) == icons)
            expect(
                "fresh according to the listing (--remote-fresh-for)", storage.takeRequests())
            #expect(try await run("4", .mirror).count(.pulled) == icons)
            expect("copied to a cache", storage.takeRequests())

            // A new version of each icon, stale at once.
            version.withLock { $0 = 2 }
            storage.age(by: 10_000)
            _ = try await RemoteEvictor(Remote(in: storage)).evict(.init(maximumAge: 5000))
            #expect(try await run("5", .fill).count(.fetched) == icons)
            _ = storage.takeRequests()
            #expect(try await run("6", .fill).count(.revalidated) == icons)
            expect("stale, not modified", storage.takeRequests())
            // Makes the references look much newer than the objects.
            storage.age(by: -1000)
            #expect(try await run("8", .only).count(.pulled) == icons)
            expect("copied to a cache after a renewal", storage.takeRequests())
            storage.age(by: 1000)
            version.withLock { $0 = 3 }
            #expect(try await run("7", .fill).count(.fetched) == icons)
            expect("stale, modified", storage.takeRequests())

            #expect(try await RemoteVerifier(Remote(in: storage)).verify().isSound)
            _ = storage.takeRequests()
            storage.age(by: 200_000)
            let report = try await RemoteEvictor(Remote(in: storage)).evict(
                .init(maximumAge: 100_000))
            #expect(report.expired == icons && report.evictedObjects >= icons)
            expect("evicted", storage.takeRequests(), allowing: report.evictedObjects - icons)

            func expect(
                _ row: String, _ requests: CountedStorage.Requests, allowing unreferenced: Int
            ) {
                var requests = requests
                requests.get -= unreferenced
                requests.delete -= unreferenced
                expect(row, requests)
            }
        }
    }

    /// For operations that only list, the test uses a thousandth of the plan's billion icons.
    @Test func listingsWithoutOtherRequestsAreAsDocumented() async throws {
        let storage = synthetic(parts: 256)
        let resources = storage.resourcesPerPart * storage.parts
        #expect(try await look(for: 0..<storage.resourcesPerPart, of: storage) == resources)
        try expect("a run of all workers", of: storage, listings: 1)

        let evicted = try await RemoteEvictor(Remote(in: storage)).evict(.init(maximumAge: 200_000))
        #expect(evicted.references == resources && evicted.objects == resources)
        #expect(evicted.expired == 0 && evicted.evictedObjects == 0)
        try expect("an eviction that removes nothing", of: storage, listings: 2)
    }

    /// The test uses an eighth of the parts, because each icon takes further requests here. All
    /// parts are alike.
    @Test func listingsOfEvictionAndVerificationAreAsDocumented() async throws {
        let storage = synthetic(parts: 32)
        let resources = storage.resourcesPerPart * storage.parts
        let evicted = try await RemoteEvictor(Remote(in: storage)).evict(.init(maximumAge: 50_000))
        #expect(evicted.expired == resources && evicted.evictedObjects == resources)
        try expect("an eviction that removes objects", of: storage, listings: 3)

        let verified = try await RemoteVerifier(Remote(in: storage)).verify()
        #expect(verified.objects == resources && verified.references == resources)
        #expect(try expect("a verification", of: storage, listings: 2).get == resources)
    }

    /// The first parts of a remote with a million icons.
    private func synthetic(parts: Int) -> SyntheticRemote {
        SyntheticRemote(resources: 1_000_000, parts: share(of: parts), age: 100_000)
    }

    /// Expects the number of LIST requests in the page's table. Each listing of a part may take one
    /// more, because its last page is not full.
    @discardableResult
    private func expect(
        _ row: String, of storage: SyntheticRemote, listings: Int
    ) throws -> CountedStorage.Requests {
        let table = try document.table(
            "Requests and limits", "for each million icons in the remote")
        let text = try #require(table.cell(row, "LIST")).filter { $0 != "," }
        let documented =
            try #require(Int(text)) * storage.resourcesPerPart * storage.parts / 1_000_000
        let requests = storage.takeRequests()
        #expect((documented...documented + 256 * listings).contains(requests.list), "\(row)")
        return requests
    }

    /// Without four requests at once, the verification never ends.
    @Test func aVerificationListsSeveralPartsAtOnce() async throws {
        let storage = CountedStorage()
        for byte in UInt8.min...UInt8.max {
            let digest = ReferenceSHA256.hex([byte])
            let key = "objects/sha256/\(digest.prefix(2))/\(digest)"
            try await storage.put(key, RequestBody([byte]), digest: "", mediaType: nil)
        }
        let requests = Mutex((now: 0, most: 0))
        storage.before { _, _ in
            requests.withLock { requests in
                requests.now += 1
                requests.most = max(requests.most, requests.now)
            }
            while requests.withLock({ $0.most < 4 }) { await Task.yield() }
            requests.withLock { $0.now -= 1 }
        }
        var remote = try Remote(in: storage)
        remote.maximumConcurrent = 4
        let report = try await RemoteVerifier(remote).verify()
        #expect(report.objects == 256 && report.isSound)
        #expect(requests.withLock { $0.most } == 4)
    }

    /// There is at most one listing for each name found, and one more for each part.
    @Test func lookingUpFewNamesTakesFewListings() async throws {
        let storage = SyntheticRemote(resources: 25_600_000, parts: share(of: 64), age: 0)
        let places = stride(from: 0, to: storage.resourcesPerPart, by: storage.resourcesPerPart / 4)
        let found = try await look(for: places, of: storage)
        #expect(found == storage.parts * places.underestimatedCount)
        #expect(storage.takeRequests().list <= found + storage.parts)
    }

    @Test func aNameAtTheEndOfAPageIsFoundOnce() async throws {
        let storage = SyntheticRemote(resources: 512_000, parts: 1, age: 0)
        #expect(try await look(for: [0, 999], of: storage) == 2)
    }

    /// Returns the number of names found.
    private func look(
        for places: some Sequence<Int> & Sendable, of storage: SyntheticRemote
    ) async throws -> Int {
        let found = Mutex(0)
        for part in (0..<storage.parts).map(UInt8.init) {
            let names = places.map { storage.name($0, below: nil) }
            try await RemoteStore(storage).look(in: part, atOnce: 16) { last in
                last == nil ? names : []
            } found: { page in
                found.withLock { $0 += page.count }
            }
        }
        return found.withLock { $0 }
    }

    @Test func hostsAreDistributedEvenlyOverParts() {
        let hosts = share(of: 2_000_000)
        var counts = [Int](repeating: 0, count: Part.count)
        for number in 0..<hosts {
            counts[Int(Part(ofHost: "host-\(number).example.com").number)] += 1
        }
        let mean = Double(hosts) / 256
        let most = counts.map { abs(Double($0) - mean) }.max() ?? 0
        // Four standard deviations: 350 of 7,800.
        #expect(most < 4 * mean.squareRoot())
    }
}
