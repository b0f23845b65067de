import Foundation
import LarderPrefetch
import LarderTestSupport
import Testing

func fill(_ cache: String, from manifest: String) async throws -> Bool {
    let configuration = PrefetchConfiguration(cache: cache)
    let prefetcher = Prefetcher(configuration)
    for try await event in prefetcher.prefetch([.file(manifest)]) {
        switch event {
        case .entry(let result) where result.outcome == .failed:
            print(result.name, result.failure?.message ?? "")
        case .finished(let report):
            return report.isComplete
        default:
            continue
        }
    }
    return false
}

/// The Swift code of the GettingStarted article, compiled above.
@Suite struct GettingStartedTests {
    @Test func theArticlesCodeIsCompiled() throws {
        #expect(
            try Article.isCompiled("Sources/LarderPrefetch/LarderPrefetch.docc/GettingStarted.md"))
    }

    @Test func theArticleCodeReportsWhetherAllIconsWereFetched() async throws {
        try await withTemporaryDirectory { directory in
            let manifest = directory.path("apps.json")
            let gif = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
            try #"[{"icon": "data:image/gif;base64,\#(gif)"}]"#
                .write(toFile: manifest, atomically: true, encoding: .utf8)
            #expect(try await fill(directory.path("cache"), from: manifest))
            try #"[{"icon": "https://"}]"#
                .write(toFile: manifest, atomically: true, encoding: .utf8)
            #expect(try await !fill(directory.path("cache"), from: manifest))
        }
        // No icon of an interrupted run has failed.
        #expect(Report.interrupted.count(.failed) == 0 && !Report.interrupted.isComplete)
    }
}
