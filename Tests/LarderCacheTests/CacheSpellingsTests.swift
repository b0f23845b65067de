import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache

/// Resources found by the spelling of their URL in a manifest.
@Suite struct CacheSpellingsTests {
    private let key = "https://a.example/"

    private func withCache(_ body: (Cache) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            try body(
                try Cache.filled(
                    at: directory.path("cache"), with: [key: [1], "https://b.example/": [2]]))
        }
    }

    @Test func aResourceIsFoundByItsURLAndByItsSpelling() throws {
        try withCache { cache in
            try cache.record([("HTTPS://A.example", key)])
            #expect(try cache.resource(spelledAs: key)?.key == key)
            #expect(try cache.resource(spelledAs: "HTTPS://A.example")?.key == key)
            #expect(try cache.resource(spelledAs: "HTTPS://a.example/x") == nil)
        }
    }

    @Test func equivalentURLsAreFoundWithoutARecordedSpelling() throws {
        let key = "https://a.example/~u/%7C?q=%27"
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: [key: [1]])
            for text in [
                "https://a.example/~u/|?q='", "HTTPS://A.example:443/%7Eu/%7c?q=%27#x",
                " https://a.example/x/..\\~%75/|?q='",
            ] {
                #expect(try cache.resource(spelledAs: text)?.key == key, "\(text)")
            }
            for text in [
                "https://u:p@a.example/~u/%7C?q=%27", "https://a.example/~u%2F%7C?q=%27",
                "https://a.example/~u/%257C?q=%27", "https://a.example/~u/%7C?q=%27&", "/~u/|",
            ] {
                #expect(try cache.resource(spelledAs: text) == nil, "\(text)")
            }
        }
    }

    @Test func theLastRecordedSpellingWins() throws {
        try withCache { cache in
            try cache.record([("x", key)])
            try cache.record([("x", "https://b.example/")])
            #expect(try cache.resource(spelledAs: "x")?.key == "https://b.example/")
        }
    }

    @Test func spellingsOfUncachedURLsAreIgnored() throws {
        try withCache { cache in
            try cache.record([("x", "https://c.example/"), ("y", key)])
            #expect(try cache.resource(spelledAs: "x") == nil)
            #expect(try cache.resource(spelledAs: "y")?.key == key)
        }
    }

    @Test func knownSpellingsAreNotWrittenAgain() throws {
        try withCache { cache in
            let writer = try #require(cache.index).writer
            func changes() throws -> Int { try writer.read { $0.totalChangesCount } }
            try cache.record([("x", key)])
            let before = try changes()
            try cache.record([("x", key), ("y", "https://c.example/")])
            #expect(try changes() == before)
            try cache.record([("z", key)])
            #expect(try changes() > before)
        }
    }

    @Test func spellingsAreDeletedWithTheirResource() throws {
        try withCache { cache in
            try cache.record([("x", key)])
            var policy = EvictionPolicy()
            policy.maximumObjects = 0
            policy.grace = 0
            _ = try cache.evict(policy) { _ in }
            #expect(try cache.resource(spelledAs: "x") == nil)
            let rows = try cache.index?.writer.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM spellings")
            }
            #expect(rows == 0)
        }
    }
}
