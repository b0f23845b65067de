import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// `/` and the files of its page.
@Suite struct GalleryRouteTests {
    /// The policy permits only the server's own files, and forbids other pages to embed it.
    @Test func theGalleryPageHasAContentSecurityPolicy() async throws {
        try await withServer([:]) { fixture in
            let client = try fixture.client()
            for path in ["/", "/gallery/gallery.css", "/gallery/gallery.js", "/gallery/icons.js"] {
                let response = try client.get(path)
                #expect(response.status == 200, "\(path)")
                let policy = try #require(response.fields["content-security-policy"])
                #expect(policy.hasPrefix("default-src 'none';"))
                #expect(policy.contains("frame-ancestors 'none'"))
                #expect(!policy.contains("unsafe") && !policy.contains("*"))
                #expect(response.fields["x-content-type-options"] == "nosniff")
            }
            #expect(try client.get("/gallery/none.js").status == 404)
            #expect(try client.get("/gallery/../index.html").status == 404)
        }
    }

    /// A page of another site that includes the scripts could read every URL in them.
    @Test func pagesOfOtherSitesCannotReadTheGallery() async throws {
        try await withServer(["http://a.example/1.png": noise(100)]) { fixture in
            let client = try fixture.client()
            let description = try Self.description(client)
            let part = try #require(description.firstMatch(of: Self.part)).output
            let page = ["gallery/gallery.css", "gallery/gallery.js", "gallery/icons.js"]
            for path in page + [String(part), "gallery/none.js", ""] {
                let own = try client.get("/\(path)", ["Sec-Fetch-Site: same-origin"])
                #expect(own.status == (path == "gallery/none.js" ? 404 : 200), "\(path)")
                let foreign = try client.get("/\(path)", ["sec-fetch-site:  Cross-Site "])
                // Other sites may link to the page.
                #expect(foreign.status == (path.isEmpty ? 200 : 403), "\(path)")
                for response in [own, foreign] {
                    let policy = response.fields["cross-origin-resource-policy"]
                    #expect(policy == "same-origin", "\(path)")
                }
            }
        }
    }

    @Test func theGalleryCanBeDisabled() async throws {
        try await withServer([:]) { configuration, _ in
            configuration.hasGallery = false
        } _: { fixture in
            let client = try fixture.client()
            for path in ["/", "/gallery/gallery.js", "/gallery/icons.js"] {
                #expect(try client.get(path).status == 404, "\(path)")
            }
        }
    }

    @Test func theGallerysDescriptionNamesItsFiles() async throws {
        try await withServer(["http://a.example/1.png": noise(100)]) { fixture in
            let client = try fixture.client()
            let description = try Self.description(client)
            #expect(description.hasPrefix("larder.begin({"), "\(description)")
            let path = try #require(description.firstMatch(of: Self.part)).output
            let icons = try client.get("/\(path)")
            #expect(icons.status == 200)
            let text = String(decoding: icons.body, as: UTF8.self)
            #expect(text.contains("http://a.example/1.png") && text.contains(#""state":"fresh""#))
            #expect(try client.get("/gallery/icons-9-0.js").status == 404)
        }
    }

    /// The page shows a message instead of an empty gallery. Only the server's own messages contain
    /// the path of the manifest.
    @Test func thePageTellsThatTheGalleryCannotBeMade() async throws {
        let problems = Problems()
        try await withServer([:]) { configuration, directory in
            let manifest = directory.path("apps.json")
            try Data(#"[{"icon": "http://a.example/1.png"}]"#.utf8)
                .write(to: URL(fileURLWithPath: manifest))
            configuration.manifests = [.init(name: "apps.json", source: .file(manifest))]
            configuration.onProblem = problems.add
        } _: { fixture in
            unlink(fixture.directory.path("apps.json"))
            let description = try Self.description(fixture.client())
            #expect(description.contains(#"{"problem":"#), "\(description)")
            #expect(!description.contains("apps.json"), "\(description)")
            #expect(problems.all.contains { $0.contains(fixture.directory.path("apps.json")) })
        }
    }

    @Test func aReloadOfTheGalleryUsesTheBrowsersCache() async throws {
        try await withServer(["http://a.example/1.png": noise(100)]) { fixture in
            let client = try fixture.client()
            let description = try Self.description(client)
            let part = try #require(description.firstMatch(of: Self.part)).output
            for path in ["", "gallery/gallery.css", "gallery/gallery.js", "gallery/icons.js"] {
                let response = try client.get("/\(path)")
                #expect(response.fields["cache-control"] == "no-cache", "\(path)")
                let tag = try #require(response.fields["etag"])
                let again = try client.get("/\(path)", ["If-None-Match: \(tag)"])
                #expect(again.status == 304 && again.fields["etag"] == tag, "\(path)")
            }
            let first = try client.get("/\(part)")
            #expect(first.fields["cache-control"]?.hasSuffix("immutable") == true)
            // The file name contains the digest of the content.
            let digest = try #require(first.fields["etag"]?.dropFirst().dropLast())
            #expect(part.contains(digest))
        }
    }

    private static var part: Regex<Substring> { /gallery\/icons-[0-9a-f]+-0\.js/ }

    /// Requests the description, as the page does, until the gallery is made.
    private static func description(_ client: RawClient) throws -> String {
        while true {
            let response = try client.get("/gallery/icons.js")
            let text = String(decoding: response.body, as: UTF8.self)
            guard response.status == 200, text == "larder.later()\n" else { return text }
        }
    }
}
