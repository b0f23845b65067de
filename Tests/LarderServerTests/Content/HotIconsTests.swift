import LarderCache
import LarderCore
import LarderServer
import LarderTestSupport
import NIOCore
import Testing

@testable import LarderServer

@Suite struct HotIconsTests {
    /// An icon of so many bytes, as a store finds it.
    private func icon(_ key: String, bytes: Int) throws -> KnownIcon {
        try withTemporaryDirectory { directory in
            let path = directory.path("cache")
            try ServerFixture.fill(path, with: [key: noise(bytes)])
            let cache = LiveCache(path: path)
            let object = try #require(try cache.resource(key)).object
            let (data, file) = try cache.data(of: object)
            return KnownIcon(
                object, for: CacheKey(key), body: ByteBuffer(bytes: data), file: file,
                generation: 0, fields: [])
        }
    }

    @Test func itStaysWithinItsLimit() throws {
        let limit = 100_000
        let icon = try icon("https://a.example/a", bytes: 1_000)
        var hot = HotIcons(limit: limit)
        var dropped = 0
        for number in 0..<1_000 {
            dropped += hot.insert(icon, for: CacheKey("https://a.example/\(number)")).count
            #expect(hot.cost <= limit + icon.cost)
        }
        #expect(dropped + hot.count == 1_000)
        #expect(hot.count > 20)
        #expect(hot[CacheKey("https://a.example/999")] != nil)
        #expect(hot[CacheKey("https://a.example/0")] == nil)
    }

    /// What is asked for again and again stays, whatever comes between.
    @Test func whatIsUsedStays() throws {
        let icon = try icon("https://a.example/a", bytes: 1_000)
        var hot = HotIcons(limit: 100_000)
        let key = CacheKey("https://a.example/a")
        hot.insert(icon, for: key)
        for number in 0..<1_000 {
            hot.insert(icon, for: CacheKey("https://a.example/\(number)"))
            #expect(hot[key] === icon)
        }
        hot.remove(key)
        #expect(hot[key] == nil)
    }

    /// A long target is charged for: anybody can make any number of them.
    @Test func keysCost() throws {
        let long = "https://a.example/" + String(repeating: "a", count: 5_000)
        #expect(try icon(long, bytes: 10).cost > 6_000)
    }
}
