import LarderTestSupport
import Testing

/// A page whose icons' names no resolver knows, in a browser that has the server for its proxy.
@Suite(.enabled(if: Browser.missing == nil, "\(Browser.missing ?? "")"))
struct ServeBrowserTests {
    @Test func aPageThroughTheMirror() async throws {
        try await withFixture { larder in
            let icons = try MirroredPage(larder)
            let images = icons.urls.map { #"<img src="\#($0)">"# }.joined()
            let page = try larder.write(
                "<!DOCTYPE html><title>Icons</title>\(images)".utf8, to: "page.html")
            let server = try await onThreadOfItsOwn { try ServeRun(larder, ["--mirror"]) }
            let browser = try await Browser(proxy: "127.0.0.1:\(server.port)")
            defer { browser.stop() }
            try await browser.open("file://\(page)")
            let shown = try await browser.run(
                "return [...document.images].filter((image) => image.naturalWidth > 0).length",
                as: Int.self)
            #expect(shown == icons.urls.count)
            #expect(larder.origin.count() == icons.asked)
            #expect(try await onThreadOfItsOwn { try server.stop() }.status == 0)
        }
    }
}
