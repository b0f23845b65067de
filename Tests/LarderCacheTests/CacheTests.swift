import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct CacheTests {
    private static let contents = Dictionary(
        uniqueKeysWithValues: (0..<20).map { ("http://a.example/\($0)", noise(100 + $0, seed: $0)) }
    )

    /// Expects the cache to hold `contents` and nothing else.
    private func expect(_ contents: [String: [UInt8]], in cache: Cache) throws {
        #expect(try cache.contents() == contents)
        for (key, bytes) in contents {
            #expect(try cache.resource(key)?.object.digest == Digest.reference(of: bytes))
        }
    }

    // MARK: Opening

    @Test func openingAnAbsentCacheThrowsMissing() throws {
        try withTemporaryDirectory { directory in
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.open(at: directory.path("absent"))
            }
            #expect(error?.code == .missing)
            #expect(error?.subject == directory.path("absent"))
            #expect(Tree.names(directory.path).isEmpty)
        }
    }

    @Test func anEmptyDirectoryReadsAsAnEmptyCache() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.open(at: directory.path)
            #expect(try cache.resource("key") == nil)
            #expect(cache.indexURI == nil)
            #expect(try cache.status().totals == IndexTotals())
            #expect(try cache.verify().isClean)
            try expect([:], in: cache)
            #expect(Tree.names(directory.path).isEmpty)
        }
    }

    @Test func aReopenedCacheHasTheSameContents() throws {
        try withTemporaryDirectory { directory in
            do { _ = try Cache.filled(at: directory.path("a/cache"), with: Self.contents) }
            try expect(Self.contents, in: try Cache.open(at: directory.path("a/cache")))
            try expect(Self.contents, in: try Cache.create(at: directory.path("a/cache")))
        }
    }

    @Test func resourcesAreEnumeratedInKeyOrder() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: Self.contents)
            var keys: [String] = []
            try cache.forEachResource { keys.append($0.key) }
            #expect(keys == Self.contents.keys.sorted())
        }
    }

    /// More resources than one query of the enumeration reads.
    @Test func theIndexCanBeQueriedDuringAnEnumeration() throws {
        try withTemporaryDirectory { directory in
            let contents = Dictionary(
                uniqueKeysWithValues: (0..<1_203).map { ("\($0)", noise(8, seed: $0 % 40)) })
            let cache = try Cache.filled(at: directory.path, with: contents)
            unlink(try cache.file(of: noise(8, seed: 3)))
            var (keys, unreadable) = ([String](), 0)
            try cache.forEachResource { resource in
                keys.append(resource.key)
                let found = try cache.resource(resource.key)
                #expect(found?.object.digest == resource.object.digest)
                if (try? cache.bytes(of: resource.object)) == nil { unreadable += 1 }
            }
            #expect(keys == contents.keys.sorted())
            #expect(unreadable == contents.keys.count { (Int($0) ?? 0) % 40 == 3 })
        }
    }

    @Test func aCacheCanBeMovedToAnotherPath() throws {
        try withTemporaryDirectory { directory in
            do { _ = try Cache.filled(at: directory.path("old"), with: Self.contents) }
            try FileManager.default.moveItem(
                atPath: directory.path("old"), toPath: directory.path("new place"))
            let cache = try Cache.open(at: directory.path("new place"))
            try expect(Self.contents, in: cache)
            #expect(try cache.verify().isClean)
            let store = try cache.store()
            try store.put([1, 2, 3], at: "more")
            store.flush()
            #expect(try cache.resource("more") != nil)
            #expect(!FileManager.default.fileExists(atPath: directory.path("old")))
        }
    }

    /// The last connection to close folds the write-ahead log into the index, which is then one
    /// file.
    @Test func aClosedCacheCanBeCopied() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            try expect(Self.contents, in: cache)
            cache.close()
            #expect(
                Tree.names(directory.path("cache")).filter { $0.hasPrefix("index") }
                    == ["index.snapshot.sqlite", "index.sqlite"])
            #expect(throws: CacheError.self) { try cache.resource("key") }
            try FileManager.default.copyItem(
                atPath: directory.path("cache"), toPath: directory.path("copy"))
            try expect(Self.contents, in: try Cache.open(at: directory.path("copy")))
        }
    }

    @Test func nothingIsWrittenOutsideTheRoot() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: Self.contents)
            _ = try cache.verify()
            #expect(Tree.names(directory.path) == ["cache"])
            #expect(
                Set(Tree.names(directory.path("cache"))).isSubset(
                    of: CacheLayout.ownNames.union(CacheLayout.indexFiles)))
        }
    }

    /// Deleting any part of a cache costs downloads, never correctness.
    @Test(arguments: [
        ["objects"], ["objects/sha256"], ["tmp"], ["CACHEDIR.TAG"],
        ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"],
    ])
    func anyPartOfACacheCanBeDeleted(_ parts: [String]) throws {
        try withTemporaryDirectory { directory in
            do { _ = try Cache.filled(at: directory.path, with: Self.contents) }
            for part in parts { try? FileManager.default.removeItem(atPath: directory.path(part)) }
            do {
                let cache = try Cache.create(at: directory.path)
                let store = try cache.store()
                for (key, bytes) in Self.contents { try store.put(bytes, at: key) }
                store.flush()
                try expect(Self.contents, in: cache)
                let report = try cache.verify()
                #expect(report.findings.isEmpty)
                #expect(report.whole == 20)
            }
        }
    }

    // MARK: Reading objects

    enum Damage: CaseIterable {
        case flipped, short, long, zeroed, missing, link, linkToACopy, directory

        func inflict(on file: String, of bytes: [UInt8]) throws {
            switch self {
            case .flipped: try Tree.put([bytes[0] ^ 1] + bytes.dropFirst(), at: file)
            case .short: try Tree.put(bytes.dropLast(), at: file)
            case .long: try Tree.put(bytes + [0], at: file)
            case .zeroed: try Tree.put(bytes.map { _ in 0 }, at: file)
            case .missing: unlink(file)
            case .link: try replace(file, by: "/etc/passwd")
            case .linkToACopy:
                try Tree.put(bytes, at: file + ".copy")
                try replace(file, by: file + ".copy")
            case .directory:
                unlink(file)
                try FileManager.default.createDirectory(
                    atPath: file, withIntermediateDirectories: false)
            }
        }

        private func replace(_ file: String, by target: String) throws {
            unlink(file)
            try FileManager.default.createSymbolicLink(
                atPath: file, withDestinationPath: target)
        }
    }

    @Test(arguments: Damage.allCases, [200, 300_000])
    func aCorruptObjectIsNeverServed(_ damage: Damage, _ size: Int) throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(size, seed: 1)
            let cache = try Cache.filled(at: directory.path, with: ["key": bytes])
            let object = try #require(try cache.resource("key")).object
            #expect(try cache.bytes(of: object) == bytes)
            try damage.inflict(on: try cache.file(of: bytes), of: bytes)
            let error = #expect(throws: CacheError.self) { try cache.bytes(of: object) }
            #expect(error?.code == .corrupt)
            #expect(error?.subject == "\(object.digest)")
        }
    }

    @Test func anObjectIsPresentIfItsSizeOrDigestMatches() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(200, seed: 1)
            let cache = try Cache.filled(at: directory.path, with: ["key": bytes])
            let digest = try Digest.reference(of: bytes)
            #expect(try cache.isPresent(digest, size: 200))
            // A wrong size in the index does not matter if the digest matches.
            #expect(try cache.isPresent(digest, size: 199))
            #expect(try !cache.isPresent(Digest.reference(of: [1]), size: 1))
            try Tree.put(noise(199, seed: 1), at: try cache.file(of: bytes))
            #expect(try !cache.isPresent(digest, size: 200))
            unlink(try cache.file(of: bytes))
            #expect(try !cache.isPresent(digest, size: 200))
        }
    }

    @Test func theObjectPathIsDerivedFromTheDigest() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(200, seed: 1)
            let cache = try Cache.filled(at: directory.path, with: ["key": bytes])
            let object = try #require(try cache.resource("key")).object
            let hex = ReferenceSHA256.hex(bytes)
            #expect(object.path == "objects/sha256/\(hex.prefix(2))/\(hex)")
            #expect(try Tree.bytes(cache.absolutePath(of: object.digest)) == bytes)
        }
    }

    // MARK: Read-only media

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func aReadOnlyCacheIsReadWithoutChanges() throws {
        try withTemporaryDirectory { directory in
            do { _ = try Cache.filled(at: directory.path, with: Self.contents) }
            let before = Tree.files(directory.path)
            chmod(directory.path, 0o555)
            let cache = try Cache.open(at: directory.path)
            #expect(cache.isReadOnly)
            try expect(Self.contents, in: cache)
            #expect(try cache.verify().whole == 20)
            #expect(Tree.files(directory.path) == before)
            for attempt in [
                { _ = try cache.store() }, { _ = try Cache.create(at: directory.path) },
            ] {
                let error = #expect(throws: CacheError.self) { try attempt() }
                #expect(error?.code == .unusable)
            }
        }
    }
}
