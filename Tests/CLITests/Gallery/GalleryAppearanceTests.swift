import Foundation
import LarderTestSupport
import Testing

/// A small gallery with problems, in a browser as wide as a desktop and as a phone.
@Suite(.timeLimit(.minutes(30)), .enabled(if: Browser.missing == nil, "\(Browser.missing ?? "")"))
struct GalleryAppearanceTests {
    private typealias Key = Browser.Key

    private static let icons = [
        ("Notes", "notes.png"), ("Mail", "mail.png"), ("Radio", "radio.png"),
        ("Maps, routes and public transport", "maps.png"), ("Weather", "weather.png"),
        ("Music", "music.png"), ("Calendar", "calendar.png"), ("Clock", "clock.png"),
        ("Charts", "charts.gif"), ("Search", "search.png"), ("Home", "home.svg"),
        ("Guest Wi-Fi", "broken/page.png"), ("Books", "books.svg"), ("Photos", "photos.jpg"),
        ("Passwords", "passwords.png"),
    ]
    private static let damaged = "search.png"
    private static let longName = 3

    @Test func eachProblemIsAFilter() async throws {
        try await withGallery { page in
            let buttons = "document.querySelectorAll('#problems button')"
            let problems = try await page.browser.run(
                "return [...\(buttons)].map((button) => button.textContent)", as: [String].self)
            #expect(problems == ["1 missing", "2 failed", "1 damaged"])
            let names = [["Kiosk"], ["Radio", "Guest Wi-Fi"], ["Search"]]
            for (number, names) in names.enumerated() {
                // Other filters are reset, because they could hide the problems.
                try await page.choose("manifest", "1")
                try await page.browser.run("document.getElementById('search').value = 'clock'")
                try await page.browser.run("\(buttons)[\(number)].click()")
                #expect(try await page.names == names)
                let pressed = try await page.browser.run(
                    "return [...\(buttons)].map((button) => button.ariaPressed === 'true')",
                    as: [Bool].self)
                #expect(pressed == problems.indices.map { $0 == number })
            }
            try await page.browser.run("\(buttons)[2].click()")
            #expect(try await page.names.count == Self.icons.count + 1)
        }
    }

    @Test func problemsAreSentencesAndFreshIconsHaveNoState() async throws {
        try await withGallery { page in
            let states = try await page.browser.run(
                """
                return [...document.querySelectorAll("li")]
                  .map((item) => [item.querySelector(".state")?.textContent ?? "",
                    item.querySelector(".facts").textContent])
                """, as: [[String]].self)
            #expect(states.count { $0[0] == "" } == Self.icons.count - 3)
            let problems = states.filter { $0[0] != "" }
            let expected = [
                ["failed", "The server answered with status 404, "],
                [
                    "damaged",
                    "The file is missing or damaged; run larder verify --repair with the same"
                        + " --cache.",
                ],
                ["failed", "The response was not an image, "],
                ["missing", "The icon is not in the cache."],
            ]
            try #require(problems.map { $0[0] } == expected.map { $0[0] })
            for (problem, expected) in zip(problems, expected) {
                #expect(problem[1].hasPrefix(expected[1]) && problem[1].hasSuffix("."))
            }
        }
    }

    @Test func problemsStandOut() async throws {
        try await withGallery { page in
            for isDark in [false, true] {
                try await page.browser.prefer(dark: isDark)
                let styles = try await page.browser.run(
                    """
                    return ["li:not(.problem) .card", ".problem .card"].map((selector) =>
                      [...document.querySelectorAll(selector)].map((card) => {
                        const style = getComputedStyle(card);
                        return [style.backgroundColor, style.borderTopColor];
                      }));
                    """, as: [[[String]]].self)
                try #require(styles.map(\.count) == [Self.icons.count - 3, 4])
                #expect(styles.allSatisfy { Set($0).count == 1 })
                for (plain, problem) in zip(styles[0][0], styles[1][0]) {
                    #expect(plain != problem)
                }
            }
        }
    }

    /// The ring is outside its card, where `content-visibility` could clip it.
    @Test func theFocusedCardHasARingAndItsFullName() async throws {
        try await withGallery { page in
            let browser = page.browser
            #expect(try await isNameCut(browser))
            try await browser.run("document.getElementById('reset').focus()")
            try await browser.press(Key.tab)
            for _ in 0..<Self.longName { try await browser.press(Key.right) }
            #expect(try await page.focus == Self.icons[Self.longName].0)
            #expect(try await !isNameCut(browser))
            let picture = try await browser.screenshot().base64EncodedString()
            let colours = try await browser.run(
                """
                const image = new Image();
                image.src = "data:image/png;base64,\(picture)";
                return image.decode().then(() => {
                  const area = document.activeElement.getBoundingClientRect();
                  const canvas = document.createElement("canvas");
                  [canvas.width, canvas.height] = [image.width, image.height];
                  const pixels = canvas.getContext("2d");
                  pixels.drawImage(image, 0, 0);
                  const [x, y] = [area.x + area.width / 2, area.y + area.height / 2];
                  return [[area.left - 4, y], [area.right + 3, y], [x, area.top - 4],
                    [x, area.bottom + 3]].map(([x, y]) =>
                    [...pixels.getImageData(Math.round(x), Math.round(y), 1, 1).data].join(" "));
                });
                """, as: [String].self)
            #expect(colours == Array(repeating: "5 80 174 255", count: 4))
        }
    }

    private func isNameCut(_ browser: Browser) async throws -> Bool {
        try await browser.run(
            """
            const name = document.querySelectorAll(".name span")[\(Self.longName)];
            return name.scrollWidth > name.clientWidth || name.scrollHeight > name.clientHeight;
            """, as: Bool.self)
    }

    /// The end of a long name is below its card, where `content-visibility` could clip it.
    @Test func theNameUnderThePointerIsWhole() async throws {
        try await withGallery { page in
            let browser = page.browser
            let item = "li:nth-child(\(Self.longName + 1))"
            try await browser.run(
                """
                document.querySelector("\(item) .name span").textContent = "Long name ".repeat(10);
                """)
            #expect(try await isNameCut(browser))
            try await browser.point(at: "\(item) .picture")
            try await browser.wait(
                until: """
                    getComputedStyle(document.querySelector("\(item) .name span")).whiteSpace
                      !== "nowrap"
                    """)
            #expect(try await !isNameCut(browser))
            let isVisible = try await browser.run(
                """
                const name = document.querySelector("\(item) .name span");
                const area = name.getBoundingClientRect();
                const card = name.closest(".card").getBoundingClientRect();
                const [x, y] = [area.x + area.width / 2, area.bottom - 3];
                return [y > card.bottom, document.elementFromPoint(x, y) === name];
                """, as: [Bool].self)
            #expect(isVisible == [true, true])
        }
    }

    /// A box with another ratio would show the background around the image.
    @Test func aLargeImageKeepsItsRatio() async throws {
        try await withFixture { larder in
            let sizes = [(width: 2000, height: 500), (width: 300, height: 2400)]
            for (number, size) in sizes.enumerated() {
                let image = """
                    <svg xmlns="http://www.w3.org/2000/svg" width="\(size.width)"
                    height="\(size.height)"><rect width="99" height="99"/></svg>
                    """
                larder.origin.on("/\(number)", .ok(Array(image.utf8), type: "image/svg+xml"))
            }
            let urls = sizes.indices.map { larder.origin.url("/\($0)") }
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            let directory = larder.directory.path("gallery")
            let export = try larder.run(
                "export", directory, "--layout", "gallery", "--manifest", manifest)
            try #require(export.status == 0, "\(export)")
            try await withPage(in: directory) { page in
                for (number, size) in sizes.enumerated() {
                    try await page.browser.run(
                        "document.querySelectorAll('.card')[\(number)].click()")
                    try await page.waitForImages()
                    let boxes = try await page.browser.run(
                        """
                        return [document.querySelector("#detail-picture img"),
                          document.querySelectorAll(".card img")[\(number)]].map((image) => {
                          const area = image.getBoundingClientRect();
                          return [area.width, area.height, innerHeight];
                        });
                        """, as: [[Double]].self)
                    for box in boxes {
                        #expect(box[1] < box[2], "\(box)")
                        let ratio = Double(size.width) / Double(size.height)
                        #expect(abs(box[0] / box[1] / ratio - 1) < 0.02, "\(box)")
                    }
                    try await page.click("detail-close")
                }
            }
        }
    }

    @Test func thePreviewHasTheImagesOwnSize() async throws {
        try await withGallery { page in
            try await page.browser.run("document.querySelector('.card').click()")
            try await page.waitForImages()
            let sizes = try await page.browser.run(
                """
                return ["#detail-picture img", ".card img"].map((selector) =>
                  document.querySelector(selector).getBoundingClientRect().width);
                """, as: [Int].self)
            #expect(sizes == [96, 80])
        }
    }

    @Test func filtersCollapseOnAPhone() async throws {
        try await withGallery { page in
            let browser = page.browser
            func isShown(_ id: String) async throws -> Bool {
                try await browser.run(
                    "return document.getElementById('\(id)').getClientRects().length > 0",
                    as: Bool.self)
            }
            #expect(try await isShown("host"))
            #expect(try await !isShown("unfold"))
            try await browser.resize(width: 390, height: 844)
            #expect(try await !isShown("host"))
            #expect(try await isShown("search"))
            try await page.click("unfold")
            #expect(try await isShown("host"))
            try await page.choose("state", "failed")
            #expect(try await page.text("#unfold") == "Filters (1)")
            try await page.click("unfold")
            #expect(try await !isShown("host"))
            #expect(
                try await browser.run(
                    "return document.documentElement.scrollWidth", as: Int.self) == 390)
        }
    }

    /// The pictures in `docs/serve.md` are from this test. It writes them to the directory named by
    /// LARDER_TEST_SCREENSHOTS, if set.
    @Test func axeFindsNothing() async throws {
        try await withGallery { page in
            let browser = page.browser
            for (width, height) in [(1280, 720), (390, 844)] {
                for isDark in [false, true] {
                    try await browser.resize(width: width, height: height)
                    try await browser.prefer(dark: isDark)
                    try await page.waitForImages()
                    let name = "gallery-\(width)-\(isDark ? "dark" : "light").png"
                    if let directory = ProcessInfo.processInfo
                        .environment["LARDER_TEST_SCREENSHOTS"]
                    {
                        try await browser.screenshot()
                            .write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
                    }
                    #expect(try await page.accessibilityViolations() == [], "\(name)")
                    try await page.click("unfold")
                    try await browser.run("document.querySelector('#problems button').click()")
                    #expect(try await page.accessibilityViolations() == [], "\(name)")
                    try await browser.run("document.querySelector('.card').click()")
                    #expect(try await page.accessibilityViolations() == [], "\(name)")
                    try await page.click("detail-close")
                    try await browser.run("document.querySelector('#problems button').click()")
                    try await page.click("unfold")
                }
            }
        }
    }

    // MARK: -

    private func withGallery(_ body: (GalleryPage) async throws -> Void) async throws {
        try await withFixture { larder in
            larder.origin.onAny { request in
                guard let bytes = SampleManifests.files["icons\(request.path)"] else {
                    return .status(404)
                }
                return .ok(bytes, type: "image/png")
            }
            let host = "http://icons.example/"
            let apps = try larder.manifest(
                Self.icons.map { ["name": $0.0, "icon": host + $0.1] })
            let kiosk = try larder.manifest(
                [["name": "Kiosk", "icon": host + "kiosk.png"]], name: "kiosk.json")
            _ = try larder.prefetch(
                apps,
                options: [
                    "--connect-to", "icons.example:80:127.0.0.1:\(larder.origin.port)",
                ])
            try larder.damage(host + Self.damaged)
            let directory = larder.directory.path("gallery")
            let export = try larder.run(
                "export", directory, "--layout", "gallery", "--manifest", apps, "--manifest", kiosk)
            try #require(export.status == 2, "\(export)")
            try await withPage(in: directory, body)
        }
    }

    private func withPage(
        in directory: String, _ body: (GalleryPage) async throws -> Void
    ) async throws {
        let browser = try await Browser()
        defer { browser.stop() }
        let page = try await GalleryPage(browser, "file://\(directory)/index.html")
        try await browser.prefer(dark: false)
        try await page.waitForImages()
        try await body(page)
    }
}
