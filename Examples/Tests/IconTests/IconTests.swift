import Foundation
import LarderTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

let package = URL(fileURLWithPath: #filePath + "/../../..").standardizedFileURL
let cache = package.appendingPathComponent(".larder-cache")
let lock = package.appendingPathComponent("icons.lock.json")
let missing = package.appendingPathComponent("missing.txt")

@Suite(.offlineIcons(cache: cache, manifest: lock, missingList: missing))
struct ListTests {
    @Test func theListShowsAllIcons() async throws {
        let icons = try #require(OfflineIcons.current)
        let session = URLSession(configuration: icons.configuration)
        let list = try AppList(contentsOf: lock)
        #expect(try await list.icons(session).count == list.apps.count)
    }
}

@Suite(.offlineIcons(cache: cache, manifest: lock, missingList: missing))
struct FirstScreenTests {
    @Test func theFirstScreenShowsItsIcons() async throws {
        let icons = try #require(OfflineIcons.current)
        let session = URLSession(configuration: icons.configuration)
        var list = try AppList(contentsOf: lock)
        list.apps.removeSubrange(10...)
        let images = try await list.icons(session)
        for app in list.apps { #expect(images[app.icon]?.count == app.size) }
    }
}

/// The code under test, which does not know Larder.
struct AppList {
    struct App: Decodable {
        let icon: URL
        let size: Int
    }

    var apps: [App]

    init(contentsOf file: URL) throws {
        apps = try JSONDecoder().decode([App].self, from: Data(contentsOf: file))
    }

    /// Loads all icons at the same time.
    func icons(_ session: URLSession) async throws -> [URL: Data] {
        try await withThrowingTaskGroup(of: (URL, Data).self) { group in
            for app in apps {
                group.addTask { (app.icon, try await session.data(from: app.icon).0) }
            }
            return try await group.reduce(into: [:]) { images, next in images[next.0] = next.1 }
        }
    }
}
