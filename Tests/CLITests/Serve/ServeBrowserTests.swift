import LarderTestSupport
import Testing

/// A page whose icons' names no resolver knows, in a browser that has the server for its proxy.
@Suite(.enabled(if: Browser.missing == nil, "\(Browser.missing ?? "")"))
struct ServeBrowserTests {
    @Test func aPageThroughTheMirror() async throws {
        try await withFixture { larder in
            let count = 200
            let urls = (0..<count).map { "http://icons.invalid/\($0).svg?size=64" }
            for number in 0..<count {
                larder.origin.on("/\(number).svg?size=64", Icons.reply(number))
            }
            let prefetch = try larder.prefetch(
                try larder.manifest(urls: urls),
                options: ["--connect-to", "icons.invalid:80:127.0.0.1:\(larder.origin.port)"])
            try #require(prefetch.status == 0, "\(prefetch.finished)")
            let asked = larder.origin.count()
            let images = urls.map { #"<img src="\#($0)">"# }.joined()
            let page = try larder.write(
                "<!DOCTYPE html><title>Icons</title>\(images)".utf8, to: "page.html")
            let server = try await onThreadOfItsOwn { try ServeRun(larder, ["--mirror"]) }
            let browser = try await Browser(proxy: "127.0.0.1:\(server.port)")
            defer { browser.stop() }
            try await browser.open("file://\(page)")
            let shown = try await browser.run(
                "return [...document.images].filter((image) => image.naturalWidth > 0).length",
                as: Int.self)
            #expect(shown == count)
            #expect(larder.origin.count() == asked)
            #expect(try await onThreadOfItsOwn { try server.stop() }.status == 0)
        }
    }
}
