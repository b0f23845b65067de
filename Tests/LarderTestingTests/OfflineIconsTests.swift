import Foundation
import LarderCache
import LarderImages
import LarderTestSupport
import LarderTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct OfflineIconsTests {
    private static let notes = "https://icons.example/notes.png"
    private static let absent = "https://icons.example/absent.png"

    @Test(arguments: ["GET", "HEAD"])
    func aCachedIconIsAnsweredWithItsTypeAndLength(_ method: String) async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            let icons = try OfflineIcons(cache: cache.url)
            var request = URLRequest(url: URL(string: "HTTPS://icons.example:443/notes%2Epng")!)
            request.httpMethod = method
            request.setValue("bytes=0-1", forHTTPHeaderField: "Range")
            let session = URLSession(configuration: icons.configuration)
            let (data, response) = try await session.data(for: request)
            let head = try #require(response as? HTTPURLResponse)
            #expect(head.statusCode == 200)
            #expect(head.value(forHTTPHeaderField: "Content-Type") == "image/png")
            #expect(head.value(forHTTPHeaderField: "Content-Length") == "\(icon(1).count)")
            #expect(Array(data) == (method == "GET" ? icon(1) : []))
            try icons.finish()
        }
    }

    @Test func aThousandConcurrentRequestsAreAnswered() async throws {
        let urls = (0..<1_000).map { "http://icons.example/\($0).png" }
        let contents = Dictionary(
            uniqueKeysWithValues: urls.enumerated().map { ($1, icon($0)) })
        try await withCache(contents) { cache in
            let icons = try OfflineIcons(cache: cache.url)
            let session = URLSession(configuration: icons.configuration)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for url in urls {
                    group.addTask { try await session.bytes(url) == contents[url] }
                }
                for try await isRight in group { #expect(isRight) }
            }
            try icons.finish()
        }
    }

    @Test func aMissingIconFailsAndIsListedOnce() async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            let list = URL(fileURLWithPath: cache.directory.path("missing.txt"))
            for _ in 1...2 {
                let icons = try OfflineIcons(cache: cache.url, missingList: list)
                for url in [Self.absent, Self.notes, Self.absent + "?token=secret", Self.absent] {
                    guard url != Self.notes else {
                        #expect(try await icons.data(url) == icon(1))
                        continue
                    }
                    let error = await #expect(throws: URLError.self) { try await icons.data(url) }
                    #expect(error?.code == .resourceUnavailable)
                    #expect(error?.localizedDescription.contains(Self.absent) == true)
                }
                #expect(icons.missing.map(\.url) == [Self.absent, Self.absent + "?token=***"])
                let error = #expect(throws: OfflineIconsError.self) { try icons.finish() }
                #expect(error?.code == .missing)
                #expect(error?.description.contains("  \(Self.absent) is not cached") == true)
                #expect(error?.description.contains("also in \(list.path)") == true)
                // A finished instance can be used for another test.
                try icons.finish()
            }
            let lines = "\(Self.absent)\n\(Self.absent)?token=secret\n"
            #expect(try String(contentsOf: list, encoding: .utf8) == lines)
        }
    }

    @Test func instancesAddEachURLOnceToASharedList() async throws {
        try await withCache([:]) { cache in
            let urls = (0..<20).map { "https://icons.example/\($0)" }
            // An editor removed the newline at the end.
            let list = try cache.write(urls[0], to: "missing.txt")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let icons = try OfflineIcons(cache: cache.url, missingList: list)
                        for url in urls { _ = try? await icons.data(url) }
                        #expect(icons.missing.count == urls.count)
                    }
                }
                try await group.waitForAll()
            }
            let text = try String(contentsOf: list, encoding: .utf8)
            #expect(text.hasPrefix("\(urls[0])\n") && text.hasSuffix("\n"))
            #expect(text.split(separator: "\n").sorted() == urls.map { $0[...] }.sorted())
        }
    }

    /// Each instance answers and records the requests of its sessions, and no others.
    @Test func manyInstancesWorkAtTheSameTime() async throws {
        try await withTemporaryDirectory { directory in
            let caches = try (0..<4).map { number in
                try OfflineCache(directory, name: "\(number)", [Self.notes: icon(number)])
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let icons = try OfflineIcons(cache: caches[number % 4].url)
                        let session = URLSession(configuration: icons.configuration)
                        #expect(try await session.bytes(Self.notes) == icon(number % 4))
                        let own = "https://icons.example/\(number)"
                        _ = try? await session.bytes(own)
                        #expect(icons.missing.map(\.url) == [own])
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The first failure cancels the other requests, for which Foundation before Swift 6.4 waits
    /// forever.
    @Test(.timeLimit(.minutes(30))) func missingIconsEndAGroupOfRequests() async throws {
        try await withCache([:]) { cache in
            for _ in 0..<10 {
                let icons = try OfflineIcons(cache: cache.url)
                let session = URLSession(configuration: icons.configuration)
                await #expect(throws: URLError.self) {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<10 {
                            let url = "https://icons.example/\(number)"
                            group.addTask { _ = try await session.bytes(url) }
                        }
                        for try await _ in group {}
                    }
                }
                #expect(!icons.missing.isEmpty)
            }
        }
    }

    @Test func aSessionFailsAfterItsIconsAreReleased() async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            let session = URLSession(
                configuration: try OfflineIcons(cache: cache.url).configuration)
            let error = await #expect(throws: URLError.self) { try await session.bytes(Self.notes) }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func oneInstanceAtATimeServesTheSharedSession() async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            let first = try OfflineIcons(cache: cache.url)
            let second = try OfflineIcons(cache: cache.url)
            try first.serveSharedSession()
            try first.serveSharedSession()
            #expect(try await URLSession.shared.bytes(Self.notes) == icon(1))
            let error = #expect(throws: OfflineIconsError.self) { try second.serveSharedSession() }
            #expect(error?.code == .shared)
            _ = try? await URLSession.shared.bytes(Self.absent)
            #expect(first.missing.map(\.url) == [Self.absent])
            #expect(throws: OfflineIconsError.self) { try first.finish() }

            try second.serveSharedSession()
            #expect(try await URLSession.shared.bytes(Self.notes) == icon(1))
            _ = try? await URLSession.shared.bytes(Self.absent)
            #expect(second.missing.count == 1)
            #expect(first.missing.isEmpty)
        }
    }

    @Test func aPlaceholderReplacesAMissingIcon() async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            let list = URL(fileURLWithPath: cache.directory.path("missing.txt"))
            let icons = try OfflineIcons(
                cache: cache.url, missingList: list, strict: false,
                placeholder: PlaceholderColor(red: 1, green: 2, blue: 3))
            #expect(try await icons.data(Self.notes) == icon(1))
            let image = try await icons.data(Self.absent)
            let info = try image.withUnsafeBytes { try ImageInspector.inspect($0) }
            #expect(info.mediaType == .png)
            #expect(info.width == 64 && info.height == 64)
            #expect(Data(image).range(of: Data("PLTE".utf8 + [1, 2, 3])) != nil)
            #expect(icons.missing.map(\.url) == [Self.absent])
            #expect(try String(contentsOf: list, encoding: .utf8) == "\(Self.absent)\n")
            try icons.finish()
        }
    }

    /// A prefetch would not help, so these requests are not in the list.
    @Test func requestsThatNoCacheCanAnswerFailAndAreNotListed() async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            let list = URL(fileURLWithPath: cache.directory.path("missing.txt"))
            let icons = try OfflineIcons(cache: cache.url, missingList: list)
            let session = URLSession(configuration: icons.configuration)
            var request = URLRequest(url: URL(string: Self.notes)!)
            request.httpMethod = "POST"
            await #expect(throws: URLError.self) { try await session.data(for: request) }
            await #expect(throws: URLError.self) {
                try await session.bytes("https://me:secret@icons.example/notes.png")
            }
            await #expect(throws: URLError.self) { try await session.bytes("ftp://a.example/x") }
            #expect(icons.missing.count == 3)
            #expect(!icons.missing.contains { "\($0)".contains("secret") })
            #expect(!FileManager.default.fileExists(atPath: list.path))
        }
    }

    #if canImport(FoundationNetworking)
        /// Foundation would crash if the task succeeded.
        @Test func aDownloadTaskFailsOnLinux() async throws {
            try await withCache([Self.notes: icon(1)]) { cache in
                let icons = try OfflineIcons(cache: cache.url)
                let session = URLSession(configuration: icons.configuration)
                await #expect(throws: URLError.self) {
                    try await session.download(from: URL(string: Self.notes)!)
                }
            }
        }
    #endif

    @Test func aMissingCacheIsAnError() throws {
        try withTemporaryDirectory { directory in
            let error = #expect(throws: CacheError.self) {
                try OfflineIcons(cache: URL(fileURLWithPath: directory.path("none")))
            }
            #expect(error?.code == .missing)
        }
    }

    @Test func aFileThatIsNotAListOfURLsIsNotExtended() async throws {
        try await withCache([:]) { cache in
            let lock = try cache.write("[]")
            let error = #expect(throws: OfflineIconsError.self) {
                try OfflineIcons(cache: cache.url, manifest: lock, missingList: lock)
            }
            #expect(error?.code == .list)
        }
    }

    @Test func aListThatCannotBeWrittenIsAnError() async throws {
        try await withCache([:]) { cache in
            let list = URL(fileURLWithPath: cache.directory.path("none/missing.txt"))
            let icons = try OfflineIcons(cache: cache.url, missingList: list, strict: false)
            _ = try await icons.data(Self.absent)
            let error = #expect(throws: OfflineIconsError.self) { try icons.finish() }
            #expect(error?.code == .list)
        }
    }
}
