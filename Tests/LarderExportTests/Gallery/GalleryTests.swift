import Foundation
import LarderCache
import LarderExport
import LarderManifest
import LarderPrefetch
import LarderTestSupport
import Testing

@Suite struct GalleryTests {
    /// Icons in each state, and an icon that no manifest names.
    @Test func theGalleryShowsTheStateOfEachIcon() async throws {
        try await withCache { cache, origin in
            origin.on("/fresh", icon(1).header("Cache-Control", "max-age=3600"))
            origin.on("/stale", icon(2).header("Cache-Control", "no-cache"))
            origin.on("/damaged", icon(3).header("Cache-Control", "max-age=3600"))
            origin.on("/gone", icon(4))
            origin.on("/failed", .status(404))
            origin.on("/other.svg", icon(5))
            let names = ["fresh", "stale", "damaged", "gone", "failed"]
            try await fill(cache, names.map { origin.url("/\($0)") } + [origin.url("/other.svg")])
            try damage(origin.url("/damaged"), in: cache) { path in
                var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                bytes[bytes.count / 2] ^= 1
                try FileManager.default.removeItem(atPath: path)
                try bytes.write(to: URL(fileURLWithPath: path))
            }
            try damage(origin.url("/gone"), in: cache) {
                try FileManager.default.removeItem(atPath: $0)
            }
            let entries =
                names.map { ["name": "App \($0)", "icon": origin.url("/\($0)")] } + [
                    ["name": "App missing", "icon": origin.url("/missing")],
                    ["name": "App unusable", "icon": "https://"],
                    ["name": "App without"],
                ]
            let gallery = try read(cache, [entries])

            #expect(
                gallery.icons.map { "\($0.name): \($0.state)" } == [
                    "App fresh: fresh", "App stale: stale", "App damaged: corrupt",
                    "App gone: corrupt", "App failed: failed", "App missing: missing",
                    "App unusable: failed", "other.svg: fresh",
                ])
            #expect(gallery.icons.map(\.manifest) == Array(repeating: 0, count: 7) + [nil])
            #expect(gallery.icons.map { $0.image != nil }.filter { $0 }.count == 3)
            #expect(
                gallery.icons[0].host?.hasPrefix("127.0.0.1:") == true
                    && gallery.icons[0].url != nil)
            #expect(gallery.icons[0].type == "image/svg+xml" && gallery.icons[0].size ?? 0 > 0)
            // The page computes the age, so that two exports are the same.
            #expect(gallery.icons[4].note == "the server answered with status 404")
            let failed = try #require(gallery.icons[4].failed)
            #expect(failed <= Date().timeIntervalSince1970)
            #expect(gallery.icons.count { $0.failed != nil } == 1)
            #expect(gallery.icons[6].url == nil && gallery.icons[6].note?.contains("https") == true)
            #expect(gallery.about.total == 8 && gallery.about.shown == 8)
        }
    }

    @Test func anIconWithTheWrongDigestIsMissing() async throws {
        try await withCache { cache, origin in
            origin.on("/a", icon(1))
            try await fill(cache, [origin.url("/a")])
            let digest = String(repeating: "0", count: 64)
            let gallery = try read(
                cache, [[["name": "A", "icon": origin.url("/a"), "sha256": digest]]])
            #expect(gallery.icons.map(\.state) == ["missing"])
            #expect(gallery.icons[0].note?.contains(digest) == true)
            #expect(gallery.icons[0].image == nil)
        }
    }

    /// Manifests are untrusted, so names stay plain text and long texts are cut.
    @Test func hostileNamesAndURLsAreKeptAsShortText() async throws {
        try await withCache { cache, origin in
            let name = "</script><script>alert(1)</script>\u{2028}\"\\\u{202E}"
            let gallery = try read(
                cache,
                [
                    [
                        ["name": name, "icon": origin.url("/?secret=1&token=abcdef")],
                        [
                            "name": String(repeating: "ä", count: 100_000),
                            "icon": origin.url("/" + String(repeating: "a", count: 6000)),
                        ],
                    ]
                ])
            #expect(gallery.icons[0].name == name)
            #expect(gallery.icons[0].url?.contains("abcdef") == false)
            #expect(gallery.icons[1].name == String(repeating: "ä", count: 128) + "…")
            #expect(gallery.icons[1].url?.utf8.count == GalleryLimits.urlBytes + 3)
        }
    }

    /// Each file has at most 1,000 icons. Its name contains a digest of its content.
    @Test func manyIconsAreSplitIntoSeveralFiles() async throws {
        try await withCache { cache, _ in
            let entries = (0..<2500).map {
                ["name": "App \($0)", "icon": "http://h\($0 % 7).example/\($0)"]
            }
            let gallery = try read(cache, [entries, [["icon": "http://a.example/x.png"]]])
            let names = gallery.about.files.map {
                $0.replacing(/[0-9a-f]{64}/, with: "DIGEST")  // text: our own
            }
            #expect(names == (0..<3).map { "gallery/icons-DIGEST-\($0).js" })
            #expect(gallery.icons.count == 2501 && gallery.about.manifests == ["0.json", "1.json"])
            #expect(gallery.icons[1999].name == "App 1999" && gallery.icons[2500].name == "x.png")
            #expect(Set(gallery.icons.compactMap(\.host)).count == 8)
        }
    }

    /// The limit exists because a browser keeps all icons of the gallery in memory.
    @Test func theNumberOfShownIconsIsLimited() async throws {
        try await withCache { cache, _ in
            let over = 3
            let entries = (0..<GalleryLimits.icons + over).map { "http://a.example/\($0)" }
            let place = MemoryPlace(cache)
            let report = try Gallery(
                of: cache,
                manifests: [
                    .bytes(
                        try JSONSerialization.data(
                            withJSONObject: entries.map {
                                ["icon": $0]
                            }
                        ).map { $0 }, name: "m")
                ]
            ).write(to: place)
            #expect(report.total == GalleryLimits.icons + over)
            #expect(report.shown == GalleryLimits.icons)
        }
    }

    /// Entries beyond the limit can name a cached icon, more than once.
    @Test func cachedIconsBeyondTheLimitAreCountedOnce() async throws {
        try await withCache { cache, origin in
            let cached = (0..<14).map { origin.url("/\($0)") }
            for number in 0..<14 { origin.on("/\(number)", icon(number)) }
            try await fill(cache, cached)
            let named = cached.dropLast()
            let urls = (0..<GalleryLimits.icons).map { "http://a.example/\($0)" } + named + named
            let manifest = try JSONSerialization.data(withJSONObject: urls.map { ["icon": $0] })
            let report = try Gallery(of: cache, manifests: [.bytes(Array(manifest), name: "m")])
                .write(to: MemoryPlace(cache))
            #expect(report.total == urls.count + 1)
            #expect(report.shown == GalleryLimits.icons)
        }
    }

    /// The page must work under a Content-Security-Policy that permits only its own files.
    @Test func theGalleryPageIsSelfContained() throws {
        #expect(
            GalleryFile.page.map(\.path) == [
                "index.html", "gallery/gallery.css", "gallery/gallery.js",
            ])
        for file in GalleryFile.page {
            let text = String(decoding: file.bytes, as: UTF8.self)
            #expect(!text.contains("http://") && !text.contains("https://"), "\(file.path)")
            #expect(!text.contains("innerHTML") && !text.contains("eval("), "\(file.path)")
        }
        let page = String(decoding: GalleryFile.page[0].bytes, as: UTF8.self)
        #expect(!page.contains("style=") && !page.contains(" on") || !page.contains("onclick"))
        #expect(page.components(separatedBy: "<script").count == 2)
    }

    // MARK: - Helpers

    private func icon(_ seed: Int) -> Reply {
        .ok(IconPainter.svg(seed: seed, size: 16), type: "image/svg+xml")
    }

    private func withCache(
        _ body: (Cache, Origin) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await body(Cache.create(at: directory.path("cache")), Origin())
        }
    }

    private func fill(_ cache: Cache, _ urls: [String]) async throws {
        var configuration = PrefetchConfiguration(cache: cache.path)
        configuration.transfer.addressPolicy = .allowAll
        let manifest = try JSONSerialization.data(withJSONObject: urls.map { ["icon": $0] })
        for try await _ in Prefetcher(configuration).prefetch([.bytes(Array(manifest), name: "m")])
        {}
    }

    private func damage(
        _ url: String, in cache: Cache, _ body: (String) throws -> Void
    ) throws {
        let resource = try #require(try cache.resource(url))
        try body(cache.absolutePath(of: resource.object.digest))
    }

    private func read(_ cache: Cache, _ manifests: [[[String: String]]]) throws -> ReadGallery {
        let sources = try manifests.enumerated().map { number, entries in
            ManifestSource.bytes(
                Array(try JSONSerialization.data(withJSONObject: entries)), name: "\(number).json")
        }
        let place = MemoryPlace(cache)
        try Gallery(of: cache, manifests: sources).write(to: place, isNamedByContent: true)
        return try ReadGallery(place.files)
    }
}
