import LarderCache
import LarderCore
import LarderServer
import LarderTestSupport
import NIOCore
import Testing

@testable import LarderServer

@Suite struct HotIconsTests {
    /// Returns an icon of this size, read from a cache.
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

    @Test func iconsInMemoryStayWithinTheirLimit() throws {
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

    @Test func frequentlyUsedIconsStayInMemory() throws {
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

    /// Any client can request any number of long targets.
    @Test func longKeysAddToTheCostOfAnIcon() throws {
        let long = "https://a.example/" + String(repeating: "a", count: 5_000)
        #expect(try icon(long, bytes: 10).cost > 6_000)
    }
}
