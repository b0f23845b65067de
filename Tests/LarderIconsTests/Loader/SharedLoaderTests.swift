import Foundation
import LarderTestSupport
import Testing

@testable import LarderIcons

@Suite(.timeLimit(.minutes(30))) struct SharedLoaderTests: LoaderSuite {
    /// Reads the app's loader, which other tests do not use.
    @Test func theSharedLoaderIsConfiguredOnce() async throws {
        let fetcher = ScriptedFetcher { _ in FetchedIcon(data: Data([1])) }
        let loader = loader(fetcher)
        try IconLoader.configure(loader)
        #expect(IconLoader.shared === loader)
        #expect(try await IconLoader.shared.icon(for: url("a")).data == Data([1]))

        let error = #expect(throws: IconLoader.ConfigurationError.self) {
            try IconLoader.configure(self.loader(nil))
        }
        #expect(error == .configured)
        #expect(error?.description.contains("call IconLoader.configure only once") == true)
        #expect(IconLoader.shared === loader)
    }

    @Test func theDefaultLoaderCannotBeReplacedOnceItIsUsed() throws {
        let shared = SharedLoader()
        let first = shared.loader
        let error = #expect(throws: IconLoader.ConfigurationError.self) {
            try shared.configure(loader(nil))
        }
        #expect(error == .used)
        #expect(error?.description.contains("already in use") == true)
        #expect(shared.loader === first)
    }

    @Test func threadsGetTheSameLoader() async {
        let shared = SharedLoader()
        let loaders = await withTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<100 { group.addTask { ObjectIdentifier(shared.loader) } }
            return await group.reduce(into: Set<ObjectIdentifier>()) { $0.insert($1) }
        }
        #expect(loaders.count == 1)
    }

    @Test func threadsConfigureALoaderOnce() async {
        let shared = SharedLoader()
        let loader = loader(nil)
        let configured = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 {
                group.addTask { (try? shared.configure(loader)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(configured == 1)
        #expect(shared.loader === loader)
    }

    /// On macOS, apps without a sandbox share the caches directory.
    @Test func theDefaultDirectoryBelongsToTheApp() throws {
        let caches = try #require(
            FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first)
        let directory = IconCache.defaultDirectory
        #expect(directory.lastPathComponent == "icons")
        #expect(
            directory.deletingLastPathComponent().deletingLastPathComponent().path == caches.path)
    }
}
