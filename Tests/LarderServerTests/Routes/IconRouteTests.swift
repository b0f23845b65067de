import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// `/icon` and `/objects`, from memory and from disk.
@Suite struct IconRouteTests {
    private static let url = "https://a.example/icon.png?size=2"
    private static let target = "/icon?url=https%3A%2F%2Fa.example%2Ficon.png%3Fsize%3D2"
    private static let icon = noise(2_000)
    private static let large = noise(300_000, seed: 2)
    private static let contents = [url: icon, "https://a.example/large": large]

    @Test(arguments: [0, 1 << 20]) func anIconIsServedFromMemoryAndFromDisk(_ memoryLimit: Int)
        async throws
    {
        try await withServer(Self.contents) { configuration, _ in
            configuration.memoryLimit = memoryLimit
        } _: { fixture in
            let client = try fixture.client()
            for _ in 0..<3 {
                let response = try client.get(Self.target)
                #expect(response.status == 200)
                #expect(response.body == Self.icon)
                let digest = ReferenceSHA256.hex(Self.icon)
                #expect(response.fields["etag"] == "\"sha256-\(digest)\"")
                #expect(response.fields["content-type"] == "image/png")
                #expect(response.fields["cache-control"] == "no-cache")
                #expect(response.fields["x-content-type-options"] == "nosniff")
                #expect(response.fields["content-security-policy"]?.contains("sandbox") == true)
                #expect(response.fields["access-control-allow-origin"] == nil)
                #expect(response.fields["date"]?.hasSuffix(" GMT") == true)
                #expect(try client.get("/icon?url=https://a.example/large").body == Self.large)
            }
            let inMemory = try fixture.metric("memory_hits_total")
            #expect(inMemory == (memoryLimit == 0 ? 0 : 2))
            #expect(try fixture.metric("disk_hits_total") == 6 - (inMemory ?? 0))
        }
    }

    @Test func headRequestsAndConditionsOfIconsAreHonoured() async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            let head = try client.get(Self.target, method: "HEAD")
            #expect(head.status == 200 && head.fields["content-length"] == "2000")
            let tag = try #require(head.fields["etag"])
            for tags in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let response = try client.get(Self.target, ["If-None-Match: \(tags)"])
                #expect(response.status == 304, "\(tags)")
                #expect(response.fields["etag"] == tag)
                #expect(response.fields["content-length"] == nil)
            }
            for (tags, status) in [(tag, 200), ("*", 200), ("\"x\"", 412), ("W/\(tag)", 412)] {
                let fields = ["If-Match: \(tags)", "If-None-Match: \"x\""]
                #expect(try client.get(Self.target, fields).status == status, "\(tags)")
            }
            let twice = try client.get(
                Self.target, ["If-None-Match: \"x\"", "If-None-Match: \(tag)"])
            #expect(twice.status == 304)
            let other = try client.get(Self.target, ["If-None-Match: \"x\""])
            #expect(other.status == 200 && other.body == Self.icon)
        }
    }

    @Test(arguments: [(url, icon), ("https://a.example/large", large)])
    func rangesOfIconsAreServed(_ url: String, _ icon: [UInt8]) async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            let target =
                "/icon?url="
                + (url.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
            for _ in 0..<2 {
                let part = try client.get(target, ["Range: bytes=100-299"])
                #expect(part.status == 206)
                #expect(part.body == Array(icon[100..<300]))
                #expect(part.fields["content-range"] == "bytes 100-299/\(icon.count)")
                let end = try client.get(target, ["Range: bytes=-7"])
                #expect(end.body == Array(icon.suffix(7)))
                let none = try client.get(target, ["Range: bytes=\(icon.count)-"])
                #expect(none.status == 416)
                #expect(none.fields["content-range"] == "bytes */\(icon.count)")
                let several = try client.get(target, ["Range: bytes=0-1,3-4"])
                #expect(several.status == 200 && several.body == icon)
                let tag = try #require(part.fields["etag"])
                let same = try client.get(target, ["Range: bytes=0-1", "If-Range: \(tag)"])
                #expect(same.status == 206 && same.body == Array(icon[..<2]))
                for other in ["W/\(tag)", "\"x\"", "Sun, 06 Nov 1994 08:49:37 GMT"] {
                    let whole = try client.get(target, ["Range: bytes=0-1", "If-Range: \(other)"])
                    #expect(whole.status == 200 && whole.body == icon)
                }
                let head = try client.get(target, ["Range: bytes=0-1"], method: "HEAD")
                #expect(head.status == 200)
            }
        }
    }

    @Test func objectsAreServedByTheirDigest() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.allowedOrigin = "*"
        } _: { fixture in
            let client = try fixture.client()
            let digest = ReferenceSHA256.hex(Self.icon)
            let response = try client.get("/objects/sha256/\(digest)")
            #expect(response.status == 200 && response.body == Self.icon)
            #expect(
                response.fields["cache-control"] == "public, max-age=31536000, immutable")
            #expect(response.fields["access-control-allow-origin"] == "*")
            for name in [
                digest.uppercased(), String(digest.dropLast()), "\(digest)0", "..", "",
                "../../index.sqlite", "%2e%2e/%2e%2e/index.sqlite", ReferenceSHA256.hex([]),
                "\(digest)%00",
            ] {
                #expect(try client.get("/objects/sha256/\(name)").status == 404, "\(name)")
            }
        }
    }

    @Test func iconsAreFoundByOtherSpellingsOfTheirURL() async throws {
        let contents = ["https://a.example/a%7Cb": noise(10), "key:app-1": noise(20)]
        try await withServer(contents) { fixture in
            let client = try fixture.client()
            for url in [
                "https://a.example/a%7Cb", "HTTPS://A.example:443/a%7Cb",
                "https://a.example/a%257Cb",
                "https://a.example/a|b%23part", "https://a.example/x/../%2561%257cb",
            ] {
                #expect(try client.get("/icon?url=\(url)").body == noise(10), "\(url)")
            }
            // The URL standard removes tabs and line breaks.
            #expect(try client.get("/icon?url=https://a.exa%0D%0Ample/a%09|b").body == noise(10))
            // A byte order mark is not removed.
            #expect(try client.get("/icon?url=%EF%BB%BFkey:app-1").status == 404)
            let split = try client.get("/icon?url=a%0D%0AX:%20y")
            #expect(split.status == 404 && split.fields["x"] == nil)
            #expect(try client.get("/icon?url=key%3Aapp-1").body == noise(20))
            #expect(try client.get("/icon?x=1&url=key:app-1&y=2").body == noise(20))
        }
    }

    @Test(arguments: [
        "", "?", "?url=", "?url", "?url=%", "?url=a%00", "?url=a%0B", "?u=a",
    ])
    func aRequestWithoutAValidURLIsRefused(_ query: String) async throws {
        try await withServer([:]) { fixture in
            let response = try fixture.client().get("/icon\(query)")
            #expect(response.status == 400)
            #expect(response.fields["x"] == nil)
        }
    }

    @Test func placeholdersReplaceMissingIconsIfConfigured() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.fallback = .placeholder
        } _: { fixture in
            let client = try fixture.client()
            let response = try client.get("/icon?url=https://a.example/none")
            #expect(response.status == 200)
            #expect(response.fields["x-larder-placeholder"] == "missing")
            #expect(response.fields["cache-control"] == "no-store")
            #expect(response.fields["content-type"] == "image/svg+xml")
            #expect(String(decoding: response.body, as: UTF8.self).hasPrefix("<svg"))
            let head = try client.get("/icon?url=https://a.example/none", method: "HEAD")
            #expect(head.fields["content-length"] == "\(response.body.count)")
            #expect(try client.get(Self.target).fields["x-larder-placeholder"] == nil)
            // A placeholder cannot have the requested digest.
            let digest = String(repeating: "0", count: 64)
            #expect(try client.get("/objects/sha256/\(digest)").status == 404)
        }
    }

    @Test(arguments: [url, "https://a.example/large"], [false, true])
    func damagedObjectsAreNeverServed(_ url: String, _ wasSent: Bool) async throws {
        let problems = Problems()
        try await withServer(Self.contents) { configuration, _ in
            configuration.memoryLimit = 0
            configuration.onProblem = problems.add
        } _: { fixture in
            let client = try fixture.client()
            let target = "/icon?url=" + url.replacingOccurrences(of: "?", with: "%3F")
            if wasSent { #expect(try client.get(target).status == 200) }
            let file = try #require(fixture.files[url])
            chmod(file, 0o644)
            let handle = try #require(FileHandle(forUpdatingAtPath: file))
            try handle.seek(toOffset: 1_000)
            try handle.write(contentsOf: Data([1, 2, 3]))
            try handle.close()
            for _ in 0..<2 {
                let response = try client.get(target)
                #expect(response.status == 500)
                #expect(String(decoding: response.body, as: UTF8.self).contains("damaged"))
                #expect(response.fields["cache-control"] == "no-store")
            }
            #expect(try fixture.metric("corrupt_total") == 2)
            #expect(problems.all.count == 1)
            // Other icons are still served.
            let other = url == Self.url ? "https://a.example/large" : Self.url
            let rest = try client.get(
                "/icon?url=" + other.replacingOccurrences(of: "?", with: "%3F"))
            #expect(rest.body == Self.contents[other])
        }
    }

    /// The index is new after a rebuild, or because the cache was replaced.
    @Test(arguments: [false, true]) func aNewIndexIsNoticed(_ isOtherCache: Bool) async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            let new = "https://a.example/new"
            #expect(try client.get(Self.target).status == 200)
            #expect(try client.get("/icon?url=\(new)").status == 404)
            if isOtherCache {
                let other = fixture.directory.path("other")
                try ServerFixture.fill(other, with: [new: noise(77, seed: 7)])
                try FileManager.default.moveItem(
                    atPath: fixture.cache, toPath: fixture.directory.path("old"))
                try FileManager.default.moveItem(atPath: other, toPath: fixture.cache)
            } else {
                for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
                    let path = "\(fixture.cache)/\(name)"
                    if FileManager.default.fileExists(atPath: path) {
                        try FileManager.default.removeItem(atPath: path)
                    }
                }
                try ServerFixture.fill(fixture.cache, with: [new: noise(77, seed: 7)])
            }
            // The server notices the new index within two seconds.
            let end = ContinuousClock.now + .seconds(RawClient.patience)
            while try client.get("/icon?url=\(new)").status != 200, ContinuousClock.now < end {}
            #expect(try client.get("/icon?url=\(new)").body == noise(77, seed: 7))
        }
    }

    @Test func changesByOtherProcessesAreNoticed() async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            let target = "/icon?url=https://a.example/new"
            #expect(try client.get(target).status == 404)
            try ServerFixture.fill(
                fixture.cache, with: ["https://a.example/new": noise(77, seed: 7)])
            #expect(try client.get(target).body == noise(77, seed: 7))
            try ServerFixture.fill(
                fixture.cache, with: ["https://a.example/new": noise(78, seed: 8)])
            // The server is not notified of changes. It finds this one within two seconds.
            let end = ContinuousClock.now + .seconds(RawClient.patience)
            var body: [UInt8] = []
            while body.count != 78, ContinuousClock.now < end { body = try client.get(target).body }
            #expect(body == noise(78, seed: 8))
        }
    }
}
