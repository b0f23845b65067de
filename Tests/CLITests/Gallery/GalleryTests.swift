import Foundation
import LarderTestSupport
import Testing

/// A gallery of 13,000 icons in a real browser, from files and from a server.
@Suite(.timeLimit(.minutes(30)), .enabled(if: Browser.missing == nil, "\(Browser.missing ?? "")"))
struct GalleryTests {
    private typealias Key = Browser.Key
    private static let total = GalleryFixture.count + 10

    @Test func theGalleryWorksFromFiles() async throws {
        try await withFixture { larder in
            let gallery = try GalleryFixture(larder)
            let directory = larder.directory.path("gallery")
            let export = try larder.run(
                "export", directory, "--layout", "gallery", "--manifest", gallery.first,
                "--manifest", gallery.second)
            // One icon is damaged, two have failed, and ten are missing.
            #expect(export.status == 2, "\(export)")
            let browser = try await Browser()
            defer { browser.stop() }
            let page = try await GalleryPage(browser, "file://\(directory)/index.html")
            try await checkPage(page)
            try await checkRemovedImage(page, directory)
        }
    }

    @Test func theGalleryWorksFromAServer() async throws {
        try await withFixture { larder in
            let gallery = try GalleryFixture(larder)
            let server = try await onThreadOfItsOwn {
                try ServeRun(
                    larder, ["--manifest", gallery.first, "--manifest", gallery.second])
            }
            let browser = try await Browser()
            defer { browser.stop() }
            try await checkPage(GalleryPage(browser, server.url))
            #expect(try await onThreadOfItsOwn { try server.stop() }.status == 0)
        }
    }

    private func checkPage(_ page: GalleryPage) async throws {
        let browser = page.browser
        #expect(try await page.status == "13,010 icons, 1 to 240 shown")
        #expect(try await page.names.count == 240)
        #expect(try await page.names.prefix(3) == ["App 0", GalleryFixture.name(1), "App 2"])
        try await page.waitForImages()
        let images = "return document.querySelectorAll('.card img').length"
        let withoutImage = GalleryFixture.failed.count + 1
        #expect(try await browser.run(images, as: Int.self) == 240 - withoutImage)
        #expect(try await page.accessibilityViolations() == [])

        try await checkFilters(page)
        try await checkOrder(page)
        try await checkKeyboard(page)
        try await checkColours(page)

        #expect(try await browser.consoleMessages() == [])
        let base = page.address.replacingOccurrences(of: "index.html", with: "")
        let foreign = try await browser.requestedURLs().filter { !$0.hasPrefix(base) }
        #expect(foreign == [])
    }

    private func checkFilters(_ page: GalleryPage) async throws {
        try await page.choose("state", "corrupt")
        #expect(try await page.names == ["App \(GalleryFixture.damaged)"])
        #expect(try await page.status == "1 of 13,010 icons")
        #expect(try await page.text(".card .picture") == "no image")
        try await page.choose("state", "failed")
        #expect(try await page.names == GalleryFixture.failed.map { "App \($0)" })
        try await page.choose("state", "missing")
        #expect(try await page.names == (0..<10).map { "Later \($0)" })
        try await page.choose("state", "stale")
        #expect(try await page.status == "1,300 of 13,010 icons, 1 to 240 shown")
        try await page.choose("host", "h7.example")
        #expect(try await page.status == "325 of 13,010 icons, 1 to 240 shown")
        try await page.click("reset")
        try await page.browser.wait(until: "document.getElementById('host').value === ''")
        try await page.choose("manifest", "1")
        #expect(try await page.status == "10 of 13,010 icons")
        try await page.choose("manifest", "")
        try await page.choose("type", "image/png")
        // Every fourth icon, except a failed icon.
        #expect(try await page.status == "3,249 of 13,010 icons, 1 to 240 shown")
        try await page.choose("type", "")
        #expect(try await page.status == "13,010 icons, 1 to 240 shown")
    }

    private func checkOrder(_ page: GalleryPage) async throws {
        try await page.choose("sort", "name")
        try await page.click("direction")
        // Numbers in names are sorted by value.
        #expect(try await page.names.prefix(11).last == "App 12999")
        try await page.click("direction")
        try await page.choose("sort", "state")
        #expect(
            try await page.names.prefix(3)
                == ["App \(GalleryFixture.damaged)"] + GalleryFixture.failed.map { "App \($0)" })
        try await page.choose("sort", "size")
        try await page.choose("state", "fresh")
        let small = try await sizes(page)
        try await page.click("direction")
        let large = try await sizes(page)
        #expect(small == small.sorted() && large == large.sorted(by: >))
        #expect(try #require(small.last) < #require(large.last))
        try await page.click("reset")
        try await page.browser.wait(until: "document.getElementById('sort').value === ''")
    }

    /// Returns the sizes shown for the icons on the page, in bytes.
    private func sizes(_ page: GalleryPage) async throws -> [Double] {
        try await page.browser.run(
            """
            const units = { B: 1, kB: 1000 };
            return [...document.querySelectorAll(".facts")].map((facts) => {
              const [value, unit] = facts.textContent.split(" ");
              return parseFloat(value) * units[unit];
            });
            """, as: [Double].self)
    }

    private func checkKeyboard(_ page: GalleryPage) async throws {
        let browser = page.browser
        try await browser.press("/")
        #expect(try await page.focus == "search")
        try await browser.press("app 1299")
        #expect(try await page.status == "12 of 13,010 icons")
        #expect(try await page.names.prefix(2) == ["App 1299", "App 11299"])
        let address = try await browser.run("return location.hash", as: String.self)
        #expect(address == "#search=app+1299")
        // After the controls, the icons are a single tab stop.
        try await browser.run("document.getElementById('reset').focus()")
        try await browser.press(Key.tab)
        #expect(try await page.focus == "App 1299")
        try await browser.press(Key.right)
        #expect(try await page.focus == "App 11299")
        try await browser.press(Key.end)
        #expect(try await page.focus == "App 12999")
        try await browser.press(Key.home)
        try await browser.press(Key.down)
        let columns = try await browser.run(
            """
            return getComputedStyle(document.getElementById("sheet")).gridTemplateColumns
              .split(" ").length
            """, as: Int.self)
        #expect(try await page.focus == page.names[columns])
        try await browser.press(Key.home + Key.enter)
        #expect(try await page.text("#detail-name") == "App 1299")
        #expect(try await page.text("#detail-facts").contains("http://h19.example/1299.svg"))
        try await page.waitForImages()
        #expect(try await page.accessibilityViolations() == [])
        try await browser.press(Key.escape)
        try await browser.wait(until: "!document.getElementById('detail').open")
        #expect(try await page.focus == "App 1299")
        try await page.click("reset")
        try await browser.wait(until: "document.getElementById('search').value === ''")
        try await browser.run("document.querySelector('.card').focus()")
        try await browser.press(Key.pageDown)
        #expect(try await page.status == "13,010 icons, 241 to 480 shown")
        #expect(try await page.focus == "App 240")
        try await page.click("reset")
        try await browser.wait(until: "document.getElementById('page').value === '1'")
    }

    private func checkColours(_ page: GalleryPage) async throws {
        let background = "return getComputedStyle(document.body).backgroundColor"
        try await page.browser.prefer(dark: true)
        let dark = try await page.browser.run(background, as: String.self)
        try await page.waitForImages()
        #expect(try await page.accessibilityViolations() == [])
        try await page.browser.prefer(dark: false)
        let light = try await page.browser.run(background, as: String.self)
        #expect(dark == "rgb(15, 18, 22)" && light == "rgb(255, 255, 255)")
    }

    /// Checks the text shown in place of an image whose file was removed.
    private func checkRemovedImage(_ page: GalleryPage, _ directory: String) async throws {
        let first = try await page.browser.run(
            "return document.querySelector('.card img').src", as: String.self)
        try FileManager.default.removeItem(at: try #require(URL(string: first)))
        let again = try await GalleryPage(page.browser, page.address)
        try await page.browser.wait(until: "document.querySelector('.card .none') !== null")
        #expect(try await again.text(".card .picture") == "cannot be shown")
    }
}
