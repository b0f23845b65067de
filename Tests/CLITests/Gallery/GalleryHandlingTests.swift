import LarderTestSupport
import Testing

/// The gallery's page, used with the keyboard and before it has loaded.
@Suite(.timeLimit(.minutes(30)), .enabled(if: Browser.missing == nil, "\(Browser.missing ?? "")"))
struct GalleryHandlingTests {
    private typealias Key = Browser.Key

    @Test func aSearchTypedWhileLoadingIsKept() async throws {
        try await withGallery { gallery, browser in
            let gate = try Gate()
            let page = try await begin(browser, gallery.address(at: "/typed", until: gate))
            try await browser.press("/")
            try await browser.press("app 24")
            try await browser.run("document.querySelectorAll('.card')[2].focus()")
            #expect(try await page.names == Self.names(below: 1_000, "24"))
            #expect(try await page.focus == "App 224")
            gate.open()
            try await page.waitForAll()
            #expect(try await page.names == Self.names(below: 2_500, "24"))
            #expect(try await page.focus == "App 224")
            #expect(try await value(browser, "search") == "app 24")
            let address = try await browser.run("return location.hash", as: String.self)
            #expect(address == "#search=app+24")
            // The message about loading is announced at most once.
            let announced = try await browser.run("return announced", as: [String].self)
            #expect(announced.count { $0 == "Reading the cache …" } <= 1)
            #expect(announced.last == "154 of 2,500 icons")
        }
    }

    @Test func theFocusMovesOnIfItsIconLeavesThePage() async throws {
        try await withGallery { gallery, browser in
            let gate = try Gate()
            let page = try await begin(browser, gallery.address(at: "/sorted", until: gate))
            try await page.choose("sort", "name")
            try await page.click("direction")
            try await browser.run("document.querySelectorAll('.card')[3].focus()")
            #expect(try await page.focus == "App 996")
            gate.open()
            try await page.waitForAll()
            #expect(try await page.focus == "App 2499")
            #expect(try await value(browser, "sort") == "name")
        }
    }

    /// The page in the address is shown once it has loaded, unless the user has turned to another
    /// page.
    @Test func thePageInTheAddressIsShownOnceLoaded() async throws {
        try await withGallery { gallery, browser in
            for (prefix, isTurned) in [("/left", false), ("/turned", true)] {
                let gate = try Gate()
                let address = gallery.address(at: prefix, until: gate) + "#page=10"
                let page = try await begin(browser, address)
                if isTurned { try await page.click("previous") }
                gate.open()
                try await page.waitForAll()
                let first = try #require(try await page.names.first)
                #expect(first == (isTurned ? "App 720" : "App 2160"), "\(prefix)")
            }
        }
    }

    @Test func theSkipLinkKeepsSearchAndSortOrder() async throws {
        try await withGallery { gallery, browser in
            let page = try await GalleryPage(browser, gallery.address)
            try await page.choose("sort", "name")
            try await browser.press("/")
            try await browser.press("app 24")
            try await browser.run("document.querySelector('.skip').focus()")
            try await browser.press(Key.enter)
            #expect(try await page.focus == "App 24")
            #expect(try await page.names == Self.names(below: 2_500, "24"))
            let address = try await browser.run("return location.hash", as: String.self)
            #expect(address == "#search=app+24&sort=name")
        }
    }

    /// The buttons keep the focus on the first and last page, and each page starts at its top.
    @Test func pagesAreTurnedWithTheKeyboard() async throws {
        try await withGallery { gallery, browser in
            let page = try await GalleryPage(browser, gallery.address + "#page=10")
            try await browser.run("scrollTo(0, 1e6); document.getElementById('next').focus()")
            for _ in 0..<2 {
                try await browser.press(Key.enter)
                #expect(try await page.status == "2,500 icons, 2,401 to 2,500 shown")
                #expect(try await page.focus == "next")
            }
            let top = "document.getElementById('sheet').getBoundingClientRect().top"
            #expect(try await browser.run("return \(top) >= 0 && \(top) < 100", as: Bool.self))
            let button = "document.getElementById('next').getBoundingClientRect()"
            #expect(try await browser.run("return \(button).bottom <= innerHeight", as: Bool.self))
            #expect(try await page.accessibilityViolations() == [])
            try await browser.run("document.getElementById('previous').focus()")
            for _ in 0..<11 { try await browser.press(Key.enter) }
            #expect(try await page.status == "2,500 icons, 1 to 240 shown")
            #expect(try await page.focus == "previous")
        }
    }

    /// A list of all hosts would take seconds to open. It contains the hosts with the most icons,
    /// and an address can select any other host.
    @Test func theListOfHostsIsLimited() async throws {
        let host = { number in number < 20 ? "z.example" : "h\(number).example" }
        try await withGallery(host: host) { gallery, browser in
            let page = try await GalleryPage(browser, gallery.address + "#host=h2222.example")
            #expect(try await page.names == ["App 2222"])
            let options = try await browser.run(
                "return [...document.getElementById('host').options].map((o) => o.textContent)",
                as: [String].self)
            #expect(options.count < 310)
            #expect(options.contains("z.example (20)"))
            #expect(options.contains("2,181 more: use the search"))
            try await page.choose("host", "z.example")
            #expect(try await page.names.count == 20)
        }
    }

    // MARK: -

    private func withGallery(
        host: (Int) -> String = { _ in "a.example" },
        _ body: (GalleryOrigin, Browser) async throws -> Void
    ) async throws {
        try await withFixture { larder in
            let gallery = try GalleryOrigin(larder, host: host)
            let browser = try await Browser()
            defer { browser.stop() }
            try await body(gallery, browser)
        }
    }

    /// Opens a page and returns when it shows the first icons.
    private func begin(_ browser: Browser, _ address: String) async throws -> GalleryPage {
        let page = try await GalleryPage(opening: browser, address)
        try await browser.run(
            """
            window.announced = [];
            const status = document.getElementById("status");
            new MutationObserver(() => announced.push(status.textContent))
              .observe(status, { childList: true, characterData: true, subtree: true });
            """)
        try await browser.wait(until: "document.querySelector('.card') !== null")
        return page
    }

    private func value(_ browser: Browser, _ control: String) async throws -> String {
        try await browser.run(
            "return document.getElementById('\(control)').value", as: String.self)
    }

    private static func names(below end: Int, _ digits: String) -> [String] {
        // All of these names fit on one page.
        (0..<end).filter { "\($0)".contains(digits) }.map { "App \($0)" }
    }
}
