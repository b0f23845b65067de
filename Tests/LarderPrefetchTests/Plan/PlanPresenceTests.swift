import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderPrefetch

@Suite struct PlanPresenceTests {
    /// The planner checks one page for files while it reads the next. It must not confuse the
    /// pages.
    @Test func deletedObjectsAreMissingOnEveryPage() async throws {
        try await withTemporaryDirectory { directory in
            let count = 4 * Plan.pageLimit + 10
            // Inline icons need no origin.
            let urls = (0..<count).map { "data:text/plain,\($0)" }
            let path = directory.path("cache")
            let stored = try await prefetch(manifest(urls), into: path) {
                $0.acceptsAnyContent = true
            }
            #expect(stored.report.count(.fetched) == count)
            let cache = try Cache.open(at: path)
            var gone: Set<String> = []
            try cache.forEachResource { resource in
                guard resource.object.digest.bytes[0] % 16 == 3 else { return }
                gone.insert(resource.url)
                let file = cache.absolutePath(of: resource.object.digest)
                try FileManager.default.removeItem(atPath: file)
            }
            #expect(gone.count > 100)
            var missing: Set<String> = []
            let planner = Planner(cache: cache, acceptsAnyContent: true)
            let summary = try planner.plan(
                [.bytes(Array(manifest(urls).utf8), name: "apps.json")]
            ) { entry in
                if entry.status == .missing, let url = entry.url { missing.insert(url) }
            }
            #expect(missing == gone)
            #expect(summary.cached == count - gone.count && summary.missing == gone.count)
        }
    }
}
