import LarderHTTP
import LarderTestSupport
import Testing

@testable import LarderPrefetch

@Suite struct ShardTests {
    init() { CurlHosts.install() }

    private static let cdn = "cdn.example.com"

    private func split(_ host: String, _ pieces: Int) throws -> HostSplit {
        try #require(HostSplit(host: host, pieces: pieces))
    }

    private func shards(_ count: Int, _ splits: [HostSplit] = []) throws -> [Shard] {
        try (0..<count).map { try #require(Shard($0, of: count, splits: splits)) }
    }

    private func owners(
        of key: String, at host: String?, among count: Int, _ splits: [HostSplit] = []
    ) throws -> [Int] {
        try shards(count, splits).filter { $0.owns(host: host, key: key) }.map(\.index)
    }

    // MARK: Ownership

    @Test func aWorkerOwnsThePartsCongruentToItsIndex() throws {
        let shard = try #require(Shard(1, of: 3))
        let owned = (0...255).filter { shard.owns(Part(number: $0)) }
        #expect(owned == Array(stride(from: 1, through: 255, by: 3)))
        // 208 and 100 modulo 3 are 1, and 71 modulo 3 is 2.
        #expect(shard.owns(host: Self.cdn, key: "https://cdn.example.com/1.png"))
        #expect(shard.owns(host: nil, key: "key:app-1"))
        #expect(!shard.owns(host: "example.com", key: "https://example.com/1.png"))
    }

    @Test(
        arguments: [
            [:], [Self.cdn: 2], [Self.cdn: 6, "a.example": 256], ["localhost": 255, Self.cdn: 3],
        ] as [[String: Int]])
    func everyResourceHasExactlyOneOwner(_ pieces: [String: Int]) throws {
        let splits = try pieces.map { try split($0.key, $0.value) }
        let resources: [(host: String?, key: String)] = [
            (Self.cdn, "https://cdn.example.com/1.png"),
            (Self.cdn, "https://cdn.example.com/2.png"),
            (Self.cdn + ".", "https://cdn.example.com./1.png"), ("a.example", "http://a.example/"),
            ("a.example", "key:app-1"), ("localhost", "http://localhost/x"), (nil, "key:app-1"),
        ]
        for count in 1...256 {
            let shards = try shards(count, splits)
            for (host, key) in resources {
                #expect(shards.count { $0.owns(host: host, key: key) } == 1, "\(key) of \(count)")
            }
            #expect(shards.count(where: \.ownsProblems) == 1)
        }
    }

    @Test func aHostThatIsNotSplitHasOneOwner() throws {
        let splits = [try split(Self.cdn, 4)]
        let keys = (0..<100).map { "https://example.com/\($0).png" }
        let all = try Set(keys.flatMap { try owners(of: $0, at: "example.com", among: 7, splits) })
        #expect(all == [71 % 7])
    }

    /// The part of a resource does not depend on the number of workers.
    @Test func theOwnerIsThePartModuloTheNumberOfWorkers() throws {
        for count in [1, 3, 5, 100, 256] {
            #expect(try owners(of: "x", at: Self.cdn, among: count) == [208 % count])
        }
    }

    // MARK: Split hosts

    /// By the first two bytes of `printf %s KEY | sha256sum`: 7626, 22755, 13783 and 55216 of
    /// 65536.
    @Test(arguments: [
        ("https://cdn.example.com/1.png", [2: 0, 3: 0, 16: 1, 256: 29]),
        ("https://cdn.example.com/2.png", [2: 0, 3: 1, 16: 5, 256: 88]),
        ("https://cdn.example.com/3.png", [2: 0, 3: 0, 16: 3, 256: 53]),
        ("key:app-1", [2: 1, 3: 2, 16: 13, 256: 215]),
    ])
    func aPieceIsARangeOfDigests(_ key: String, _ expected: [Int: Int]) throws {
        for (pieces, piece) in expected {
            let split = try split(Self.cdn, pieces)
            #expect(split.piece(ofKey: key) == piece)
            // Pieces take consecutive parts, starting at that of the host, modulo 256.
            #expect(Int(split.part(ofPiece: piece).number) == (208 + piece) % 256)
            #expect(
                try owners(of: key, at: Self.cdn, among: 5, [split]) == [(208 + piece) % 256 % 5])
        }
    }

    /// If the keys of a host are sorted by digest, their pieces ascend.
    @Test(arguments: [2, 3, 7, 255, 256])
    func piecesAreConsecutiveRangesOfDigests(_ pieces: Int) throws {
        let split = try split(Self.cdn, pieces)
        let keys = (0..<5000).map { "https://cdn.example.com/\($0).png" }
        let sorted = keys.map { (digest(of: $0), split.piece(ofKey: $0)) }
            .sorted { $0.0.lexicographicallyPrecedes($1.0) }
        let runs = sorted.map(\.1)
        #expect(runs == runs.sorted())
        #expect(Set(runs) == Set(0..<pieces))
        let counts = Dictionary(grouping: runs) { $0 }.mapValues(\.count)
        #expect(counts.values.allSatisfy { $0 < 2 * 5000 / pieces + 20 })
    }

    @Test(arguments: [
        "CDN.example.com", "cdn.example.com.", "b\u{FC}cher.example", "[0::1]", "::1", "10.1",
    ])
    func aSplitHostCanHaveAnySpelling(_ host: String) throws {
        let names = [
            "CDN.example.com": Self.cdn, "cdn.example.com.": Self.cdn,
            "b\u{FC}cher.example": "xn--bcher-kva.example", "[0::1]": "[::1]", "::1": "[::1]",
            "10.1": "10.0.0.1",
        ]
        #expect(try split(host, 2).host == names[host])
    }

    @Test(arguments: [
        "", "cdn.example.com:443", "https://cdn.example.com", "cdn.example.com/icons", "a@b", "a b",
        "a..b", "*.example.com/", "a#b",
    ])
    func textThatIsNotAHostIsNotSplit(_ text: String) {
        #expect(HostSplit(host: text, pieces: 2) == nil)
    }

    @Test func theNumbersOfWorkersAndPiecesAreLimited() throws {
        #expect([-1, 0, 1, 257].allSatisfy { HostSplit(host: Self.cdn, pieces: $0) == nil })
        #expect([(0, 0), (-1, 3), (3, 3), (0, 257)].allSatisfy { Shard($0.0, of: $0.1) == nil })
        #expect(Shard(255, of: 256) != nil)
        let twice = [try split(Self.cdn, 2), try split("CDN.example.com", 3)]
        #expect(Shard(0, of: 2, splits: twice) == nil)
    }

    private func digest(of key: String) -> [UInt8] { ReferenceSHA256.digest(Array(key.utf8)) }

    // MARK: Limits

    /// All workers together keep the limit of a split host.
    @Test func sharesAddUpToAtMostTheLimit() throws {
        for pieces in [2, 3, 6, 20, 100, 256] {
            let splits = [try split(Self.cdn, pieces)]
            for count in [1, 2, 3, 5, 7, 8, 100, 255, 256] {
                // Workers without a piece only follow redirects to the host.
                let owners = try shards(count, splits).filter { shard in
                    (0..<pieces).contains { shard.owns(splits[0].part(ofPiece: $0)) }
                }
                let shares = owners.compactMap { $0.share(ofHost: Self.cdn) }
                #expect(shares.map(\.pieces).reduce(0, +) == pieces)
                for limit in [pieces, pieces + 1, 2 * pieces - 1, 1000] {
                    let requests = shares.map { $0.requests(of: limit) }
                    #expect(requests.reduce(0, +) <= limit, "\(pieces) of \(count)")
                    #expect(requests.allSatisfy { $0 > 0 })
                }
                #expect(abs(shares.map { $0.rate(of: 10) }.reduce(0, +) - 10) < 1e-9)
            }
        }
    }

    @Test func aShareIsProportionalToTheOwnedPieces() throws {
        // The pieces have the parts 208 to 213.
        let splits = [try split(Self.cdn, 6)]
        for shard in try shards(3, splits) {
            let share = try #require(shard.share(ofHost: Self.cdn + "."))
            #expect(share.requests(of: 6) == 2)
            #expect(share.requests(of: 20) == 6)
            #expect(share.rate(of: 9) == 3)
        }
        #expect(
            try shards(4, splits).map { $0.share(ofHost: Self.cdn)?.requests(of: 6) } == [
                2, 2, 1, 1,
            ])
    }

    @Test func aHostThatIsNotSplitHasNoShare() throws {
        let shard = try shards(3, [try split(Self.cdn, 6)])[0]
        #expect(shard.share(ofHost: "example.com") == nil)
    }

    @Test func aWorkerWithoutAPieceHasAShareForRedirects() throws {
        // The pieces have the parts 208 and 209.
        let shard = try shards(4, [try split(Self.cdn, 2)])[2]
        #expect(shard.share(ofHost: Self.cdn)?.requests(of: 6) == 3)
    }
}
