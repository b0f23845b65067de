import Foundation
import LarderIcons
import LarderTestSupport
import Testing

#if canImport(SwiftUI)
    import SwiftUI
#endif

func icon(_ url: URL) async throws -> Data { try await IconLoader.shared.icon(for: url).data }

#if canImport(SwiftUI)
    struct AppList: View {
        let icons: [URL]

        var body: some View {
            List(icons, id: \.self) { IconView($0, pointSize: 60) }
        }
    }
#endif

func configureIcons(fetcher: any IconFetcher) throws {
    let cache = IconCache(
        directory: IconCache.defaultDirectory,
        bundle: Bundle.main.url(forResource: "AppIcons", withExtension: nil))
    try IconLoader.configure(IconLoader(cache: cache, fetcher: fetcher))
}

func show(_ url: URL, from loader: IconLoader, in view: (IconState) -> Void) async {
    for await state in loader.states(for: url, priority: .veryHigh) { view(state) }
}

func reportLowMemory() {
    MemoryPressure.system().report(.warning)
}

/// The code of the pages about apps, compiled above. On Linux, the code with SwiftUI is only
/// parsed.
@Suite struct ArticleTests {
    @Test(arguments: [
        "README.md", "docs/apps.md", "Sources/LarderIcons/LarderIcons.docc/GettingStarted.md",
    ])
    func theCodeIsCompiled(_ page: String) throws { #expect(try Article.isCompiled(page)) }

    @Test func everyPageWithCodeIsCompiledByATest() throws {
        let root = URL(fileURLWithPath: #filePath + "/../../../..").standardizedFileURL.path
        func files(_ folder: String, _ suffix: String) throws -> [String] {
            try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")
                .filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
        }
        let tests = try files("Tests", "Tests.swift")
            .map { try String(contentsOfFile: "\(root)/\($0)", encoding: .utf8) }
            .filter { $0.contains("Article.isCompiled(") }
        let pages =
            try ["README.md", "CONTRIBUTING.md", "Examples/README.md"] + files("docs", ".md")
            + files("contrib", ".md") + files("Sources", ".md")
        let pagesWithCode = try pages.filter { try !Article.blocks(of: $0).isEmpty }
        #expect(pagesWithCode.count >= 6)
        for page in pagesWithCode {
            #expect(tests.contains { $0.contains("\"\(page)\"") }, "\(page)")
        }
    }
}
