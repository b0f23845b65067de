import Foundation
import LarderTestSupport
import Testing

/// The gallery's page in a browser.
struct GalleryPage {
    let browser: Browser
    let address: String

    /// Opens the page and returns when it has loaded all icons.
    init(_ browser: Browser, _ address: String) async throws {
        try await self.init(opening: browser, address)
        try await waitForAll()
    }

    /// Opens the page and returns when its first script has loaded.
    init(opening browser: Browser, _ address: String) async throws {
        self.browser = browser
        self.address = address
        try await browser.open(address)
    }

    /// Returns when the page has loaded all icons or reports a problem.
    func waitForAll() async throws {
        try await browser.wait(
            until: """
                document.documentElement.dataset.loaded === "yes"
                  || document.getElementById("status").className === "problem"
                """)
    }

    var status: String {
        get async throws { try await text("#status") }
    }

    func text(_ selector: String) async throws -> String {
        try await browser.run(
            "return document.querySelector('\(selector)').textContent", as: String.self)
    }

    var names: [String] {
        get async throws {
            try await browser.run(
                "return [...document.querySelectorAll('.card .name')].map((e) => e.textContent)",
                as: [String].self)
        }
    }

    /// The focused element: an icon's name, or an element's ID.
    var focus: String {
        get async throws {
            try await browser.run(
                """
                const active = document.activeElement;
                return active.querySelector(".name")?.textContent ?? active.id;
                """, as: String.self)
        }
    }

    func choose(_ control: String, _ value: String) async throws {
        try await browser.run(
            """
            const control = document.getElementById("\(control)");
            control.value = "\(value)";
            if (control.value !== "\(value)") throw new Error("no such option");
            control.dispatchEvent(new Event("change"));
            """)
    }

    func click(_ control: String) async throws {
        try await browser.run("document.getElementById('\(control)').click()")
    }

    /// Waits until the images in the window have loaded.
    func waitForImages() async throws {
        try await browser.wait(
            until: """
                [...document.querySelectorAll("img")].every((image) =>
                  image.getBoundingClientRect().top > innerHeight
                  || (image.complete && image.naturalWidth > 0))
                """)
    }

    /// Returns the violations that axe-core finds, each with its rule and elements. Preloading is
    /// off because a page on disk may not fetch its own styles.
    func accessibilityViolations() async throws -> [String] {
        try await browser.run(try #require(Browser.axe))
        return try await browser.run(
            """
            return axe.run({ preload: false }).then((result) => result.violations.map((found) =>
              found.id + ": " + found.nodes.slice(0, 3).map((node) => node.html).join(" ")));
            """, as: [String].self)
    }
}
