import Foundation
import LarderTestSupport
import Testing

/// The gallery in a browser, as its reader uses it.
struct GalleryPage {
    let browser: Browser
    let address: String

    /// Opens it, and returns when it has loaded all icons.
    init(_ browser: Browser, _ address: String) async throws {
        try await self.init(opening: browser, address)
        try await waitForAll()
    }

    /// Opens it, and returns when its first script has been read.
    init(opening browser: Browser, _ address: String) async throws {
        self.browser = browser
        self.address = address
        try await browser.open(address)
    }

    /// Returns when it has loaded all icons, or cannot.
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

    /// The names on the page, in their order.
    var names: [String] {
        get async throws {
            try await browser.run(
                "return [...document.querySelectorAll('.card .name')].map((e) => e.textContent)",
                as: [String].self)
        }
    }

    /// What has the focus: an icon's name, or an element's id.
    var focus: String {
        get async throws {
            try await browser.run(
                """
                const active = document.activeElement;
                return active.querySelector(".name")?.textContent ?? active.id;
                """, as: String.self)
        }
    }

    /// Chooses a value, as a person does with a list.
    func choose(_ control: String, _ value: String) async throws {
        try await browser.run(
            """
            const control = document.getElementById("\(control)");
            control.value = "\(value)";
            if (control.value !== "\(value)") throw new Error("there is no such choice");
            control.dispatchEvent(new Event("change"));
            """)
    }

    func click(_ control: String) async throws {
        try await browser.run("document.getElementById('\(control)').click()")
    }

    /// Waits for the images that are in the window.
    func waitForImages() async throws {
        try await browser.wait(
            until: """
                [...document.querySelectorAll("img")].every((image) =>
                  image.getBoundingClientRect().top > innerHeight
                  || (image.complete && image.naturalWidth > 0))
                """)
    }

    /// What axe-core finds: each rule, and where. It is not to fetch the styles once more, which
    /// no page on a disk may.
    func obstacles() async throws -> [String] {
        try await browser.run(try #require(Browser.axe))
        return try await browser.run(
            """
            return axe.run({ preload: false }).then((result) => result.violations.map((found) =>
              found.id + ": " + found.nodes.slice(0, 3).map((node) => node.html).join(" ")));
            """, as: [String].self)
    }
}
