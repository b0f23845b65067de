import Foundation
import LarderCache
import LarderIcons
import LarderTestSupport
import Testing

@testable import NukeCache

/// A disk cache in memory, in place of Nuke's.
private final class DictionaryCache: DataCaching {
    private let contents = Changing<[String: Data]>([:])

    func cachedData(for key: String) -> Data? { contents.value[key] }
    func containsData(for key: String) -> Bool { contents.value[key] != nil }
    func storeData(_ data: Data, for key: String) { contents.value[key] = data }
    func removeData(for key: String) { contents.value[key] = nil }
    func removeAll() { contents.value = [:] }
}

@Suite(.timeLimit(.minutes(30))) struct BundledIconsTests {
    private let url = "https://a.example/icon.png"
    private let bytes = IconPainter.png(seed: 1, size: 8)

    /// Creates a snapshot of a cache, as an app ships it.
    private func snapshot(in directory: TemporaryDirectory) throws -> URL {
        let icons = [url: bytes, "https://b.example/": IconPainter.png(seed: 2, size: 8)]
        try CacheFixture.fill(directory.path("cache"), with: icons)
        let cache = try Cache.open(at: directory.path("cache"))
        _ = try cache.snapshot(to: directory.path("AppIcons"))
        cache.close()
        return URL(fileURLWithPath: directory.path("AppIcons"))
    }

    /// Returns the names of all files, without the temporary files of an open index.
    private func files(_ directory: TemporaryDirectory) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.path)
            .filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }.sorted()
    }

    @Test func iconsAreReadInPlace() throws {
        try withTemporaryDirectory { directory in
            let bundle = try snapshot(in: directory)
            let files = try files(directory)
            let icons = BundledIcons(directory: bundle)
            #expect(icons.containsData(for: url))
            #expect(icons.cachedData(for: url) == Data(bytes))
            #expect(icons.cachedData(for: "HTTPS://A.example/icon.png") == Data(bytes))
            for key in ["https://a.example/none", "no URL", ""] {
                #expect(!icons.containsData(for: key), "\(key)")
                #expect(icons.cachedData(for: key) == nil, "\(key)")
            }
            #expect(try self.files(directory) == files)
        }
    }

    /// Nuke appends the names of processors, and would take the original for the processed icon.
    @Test(arguments: ["com.github.kean/nuke/resize?s=(44.0, 44.0)", "#blur", "#icon"])
    func theKeyOfAProcessedIconIsNotFound(_ suffix: String) throws {
        try withTemporaryDirectory { directory in
            let icons = BundledIcons(directory: try snapshot(in: directory))
            #expect(!icons.containsData(for: url + suffix))
            #expect(icons.cachedData(for: url + suffix) == nil)
        }
    }

    @Test func aMissingDirectoryIsAnEmptyCache() throws {
        try withTemporaryDirectory { directory in
            let bundle = URL(fileURLWithPath: directory.path("none"))
            let messages = Changing<[String]>([])
            let icons = BundledIcons(
                directory: bundle, log: CacheLog { _, message in messages.value.append(message()) })
            #expect(!icons.containsData(for: url))
            #expect(icons.cachedData(for: url) == nil)
            #expect(messages.value.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: bundle.path))
        }
    }

    @Test func aDamagedIconIsNilAndLogged() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let url = "https://a.example/icon.png?token=secret"
            let file = try #require(try CacheFixture.fill(path, with: [url: bytes])[url])
            chmod(file, 0o600)
            try Data(count: bytes.count).write(to: URL(fileURLWithPath: file))
            let messages = Changing<[String]>([])
            let icons = BundledIcons(
                directory: URL(fileURLWithPath: path),
                log: CacheLog { level, message in
                    if level == .warning { messages.value.append(message()) }
                })
            #expect(icons.cachedData(for: url) == nil)
            #expect(messages.value.count == 1)
            #expect(messages.value.first?.hasPrefix("could not read https://a.example/") == true)
            #expect(messages.value.first?.contains("secret") == false)
        }
    }

    @Test func nukesNewerIconsAreUsedFirstAndOnlyTheyAreRemoved() throws {
        try withTemporaryDirectory { directory in
            let cache = LarderDataCache(
                DictionaryCache(), bundle: try snapshot(in: directory))
            #expect(cache.containsData(for: url) && cache.cachedData(for: url) == Data(bytes))
            for remove in [{ cache.removeData(for: url) }, { cache.removeAll() }] {
                cache.storeData(Data([1]), for: url)
                #expect(cache.cachedData(for: url) == Data([1]))
                remove()
                #expect(cache.cachedData(for: url) == Data(bytes))
            }
            #expect(!cache.containsData(for: "https://a.example/none"))
        }
    }

    @Test func readsOnManyThreadsGetTheRightIcons() async throws {
        try await withTemporaryDirectory { directory in
            let icons = BundledIcons(directory: try snapshot(in: directory))
            let (url, bytes) = (url, bytes)
            let right = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<200 {
                    group.addTask { icons.cachedData(for: url) == Data(bytes) }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(right == 200)
        }
    }
}
