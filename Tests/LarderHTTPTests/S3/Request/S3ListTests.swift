import LarderTestSupport
import Testing

/// Listings of real servers, with a thousand names on a page.
@Suite(.timeLimit(.minutes(30))) struct S3ListTests {
    private static let pages: [S3ServerKind: Task<(Bucket, [String]), any Error>] = {
        var tasks: [S3ServerKind: Task<(Bucket, [String]), any Error>] = [:]
        for kind in S3ServerKind.installed {
            tasks[kind] = Task {
                let bucket = try await Bucket.on(kind)
                let keys = (0..<2345).map { "refs/\($0 % 7)/\(String($0, radix: 36))/x" }
                try await bucket.withStorage(prefix: "p") { try await $0.fill(keys) }
                return (bucket, keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
            }
        }
        return tasks
    }()

    /// Returns a bucket with 2,345 objects, and their sorted keys.
    private func filled(_ kind: S3ServerKind) async throws -> (Bucket, [String]) {
        try await #require(Self.pages[kind]).value
    }

    @Test(arguments: S3ServerKind.installed)
    func aListingCanHaveSeveralPages(_ kind: S3ServerKind) async throws {
        let (bucket, keys) = try await filled(kind)
        let proxy = try MisbehavingProxy(to: bucket.endpoint)
        try await bucket.through(proxy).withStorage(prefix: "p") { storage in
            let all = try await storage.keys("")
            #expect(all == keys)
            #expect(proxy.count("GET") == 3)
            #expect(try await storage.keys("refs/") == keys)
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func aListingContinuesAfterAnyName(_ kind: S3ServerKind) async throws {
        let (bucket, keys) = try await filled(kind)
        try await bucket.withStorage(prefix: "p") { storage in
            for place in [0, 1, 500, 999, 1000, 1344, 2343] {
                let rest = try await storage.keys("", after: keys[place])
                #expect(rest == Array(keys[(place + 1)...]), "\(place)")
            }
            #expect(try await storage.keys("", after: keys[2344]).isEmpty)
            // A name that does not exist.
            #expect(try await storage.keys("", after: keys[700] + "y") == Array(keys[701...]))
            #expect(try await storage.keys("", after: "refs/3") == keys.filter { $0 > "refs/3" })
            #expect(try await storage.keys("", after: "a") == keys)
            #expect(try await storage.keys("", after: "z").isEmpty)
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func aListingHasOnlyNamesWithItsPrefix(_ kind: S3ServerKind) async throws {
        let (bucket, keys) = try await filled(kind)
        try await bucket.withStorage(prefix: "p") { storage in
            for prefix in ["refs/3/", "refs/3", "refs/3/1", "refs/3/1a", "ref", "refs/9", "x"] {
                let expected = keys.filter { $0.utf8.starts(with: prefix.utf8) }
                let listed = try await storage.keys(prefix)
                #expect(listed == expected, "\(prefix)")
                let after = expected.dropFirst(3).first
                if let after {
                    #expect(
                        try await storage.keys(prefix, after: after)
                            == Array(expected.dropFirst(4)),
                        "\(prefix) after \(after)")
                }
            }
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func aLocationSeesOnlyObjectsBelowItsPrefix(_ kind: S3ServerKind) async throws {
        let bucket = try await Bucket.on(kind)
        let prefixes = ["", "a-b.c_d~e/UPPER", "a-b.c_d~e", "a-b.c", "0", "~"]
        let keys = ["objects/sha256/00/1", "objects/sha256/0a/2", "refs/0"]
        for prefix in prefixes.dropFirst() {
            try await bucket.withStorage(prefix: prefix) { try await $0.fill(keys) }
        }
        for prefix in prefixes.dropFirst() {
            try await bucket.withStorage(prefix: prefix) { storage in
                let nested =
                    prefix == "a-b.c_d~e" ? keys.map { "UPPER/" + $0 } : []
                let listed = try await storage.keys("")
                #expect(listed == nested + keys, "\(prefix)")
                #expect(
                    try await storage.keys("objects/sha256/0") == Array(keys.prefix(2)), "\(prefix)"
                )
                #expect(try await storage.bytes(keys[1]) == Array(keys[1].utf8))
            }
        }
        try await bucket.withStorage { storage in
            let all = try await storage.keys("")
            #expect(all.count == keys.count * (prefixes.count - 1))
            #expect(all.contains("a-b.c_d~e/UPPER/refs/0"))
        }
    }

    @Test(arguments: S3ServerKind.installed)
    func aListingReflectsWritesAndDeletions(_ kind: S3ServerKind) async throws {
        try await Bucket.on(kind).withStorage { storage in
            for number in 0..<20 {
                let key = "refs/\(number % 3)/\(number)"
                try await storage.put(key, [1])
                #expect(try await storage.keys("refs/").count == number + 1)
            }
            for number in 0..<20 {
                try await storage.delete("refs/\(number % 3)/\(number)")
                #expect(try await storage.keys("refs/").count == 19 - number)
            }
        }
    }
}
