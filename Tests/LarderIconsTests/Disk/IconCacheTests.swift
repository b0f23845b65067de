import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderCore
@testable import LarderIcons

@Suite(.timeLimit(.minutes(30))) struct IconCacheTests {
    private let url = URL(string: "https://a.example/icon.png")!
    private let bytes = IconPainter.png(seed: 1, size: 8)

    private func withDirectories(
        _ body: (_ main: URL, _ bundle: URL) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await body(
                URL(fileURLWithPath: directory.path("cache")),
                URL(fileURLWithPath: directory.path("bundle")))
        }
    }

    private func icons(_ directory: URL, bundle: URL? = nil) -> IconCache {
        IconCache(directory: directory, bundle: bundle, memory: MemoryCache(pressure: nil))
    }

    @Test func iconsAreReadFromDiskOnceAndThenFromMemory() async throws {
        try await withDirectories { main, _ in
            let file = try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let icons = icons(main)
            #expect(icons.memory.entry(for: url.absoluteString) == nil)
            let entry = try #require(try await icons.entry(for: url))
            #expect(Array(entry.data) == bytes)
            guard case .disk = entry.source else { return #expect(Bool(false)) }

            unlink(try #require(file[url.absoluteString]))
            #expect(icons.memory.entry(for: url.absoluteString)?.data == Data(bytes))
            #expect(try await icons.data(for: url) == Data(bytes))
        }
    }

    @Test func anIconThatIsNotCachedIsNil() async throws {
        try await withDirectories { main, bundle in
            try CacheFixture.fill(main.path, with: ["https://b.example/": bytes])
            let icons = icons(main, bundle: bundle)
            #expect(try await icons.data(for: url) == nil)
        }
    }

    @Test func aCacheThatIsCreatedLaterIsFound() async throws {
        try await withDirectories { main, _ in
            let icons = icons(main)
            #expect(try await icons.data(for: url) == nil)
            try FileManager.default.createDirectory(at: main, withIntermediateDirectories: true)
            #expect(try await icons.data(for: url) == nil)
            try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            #expect(try await icons.data(for: url) == Data(bytes))
        }
    }

    @Test func aReplacedCacheIsOpenedAgain() async throws {
        try await withDirectories { main, bundle in
            try CacheFixture.fill(main.path, with: ["https://b.example/": bytes])
            let icons = icons(main)
            #expect(try await icons.data(for: URL(string: "https://b.example/")!) == Data(bytes))
            let other = IconPainter.png(seed: 2, size: 8)
            try CacheFixture.fill(bundle.path, with: [url.absoluteString: other])
            try FileManager.default.removeItem(at: main)
            try FileManager.default.moveItem(at: bundle, to: main)
            await icons.flush()
            #expect(try await icons.data(for: url) == Data(other))
        }
    }

    @Test func iconsAreFoundByTheManifestsSpelling() async throws {
        try await withDirectories { main, _ in
            try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let spelling = "HTTPS://A.example/icon.png#large"
            let cache = try Cache.create(at: main.path)
            try cache.record([(spelling, url.absoluteString)])
            cache.close()
            let other = try #require(URL(string: spelling))
            #expect(other.absoluteString == spelling)
            #expect(try await icons(main).data(for: other) == Data(bytes))
        }
    }

    /// `URL` percent-encodes characters that a manifest may contain unencoded.
    @Test(arguments: [
        #"a|b[1]{c}^`"<d>.png"#, "a?x[]=y|z", "100%.png", "%zz|.png", "a b|\u{e9}.png",
    ])
    func iconsAreFoundByTheSpellingOfFoundationsURL(_ path: String) async throws {
        try await withDirectories { main, _ in
            let text = "https://A.example/\(path)"
            let key = try HTTPURL(text).key
            try CacheFixture.fill(main.path, with: [key: bytes])
            let url = try #require(URL(string: text))
            #expect(url.absoluteString != text)
            #expect(try await icons(main).data(for: url) == Data(bytes), "\(url)")
        }
    }

    // MARK: - Bundle

    @Test(arguments: [true, false])
    func theIconThatWasReceivedLaterWins(isBundleNewer: Bool) async throws {
        try await withDirectories { main, bundle in
            let other = IconPainter.png(seed: 2, size: 8)
            let past = Date(timeIntervalSinceNow: -86_400)
            try CacheFixture.fill(
                main.path, with: [url.absoluteString: bytes],
                receivedAt: isBundleNewer ? past : Date())
            try CacheFixture.fill(
                bundle.path, with: [url.absoluteString: other],
                receivedAt: isBundleNewer ? Date() : past)
            let icons = icons(main, bundle: bundle)
            #expect(try await icons.data(for: url) == Data(isBundleNewer ? other : bytes))
            let entry = try #require(try await icons.entry(for: url))
            if case .bundle = entry.source {
                #expect(isBundleNewer)
            } else {
                #expect(!isBundleNewer)
            }
        }
    }

    @Test func theBundleIsReadWithoutAnotherCacheAndNotChanged() async throws {
        try await withDirectories { main, bundle in
            try CacheFixture.fill(bundle.path, with: [url.absoluteString: bytes])
            let before = try FileManager.default.subpathsOfDirectory(atPath: bundle.path).sorted()
            chmod(bundle.path, 0o500)
            defer { chmod(bundle.path, 0o700) }
            let icons = icons(main, bundle: bundle)
            #expect(try await icons.data(for: url) == Data(bytes))
            await icons.flush()
            let after = try FileManager.default.subpathsOfDirectory(atPath: bundle.path).sorted()
            #expect(before == after)
            #expect(!FileManager.default.fileExists(atPath: main.path))
        }
    }

    // MARK: - Damage

    @Test func damagedBytesAreAnErrorAndNeverReturned() async throws {
        try await withDirectories { main, _ in
            let files = try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let file = try #require(files[url.absoluteString])
            let icons = icons(main)
            #expect(try await icons.data(for: url) == Data(bytes))
            icons.memory.removeAll()

            // The size and the inode stay the same, and the modification date is in the past.
            var status = stat()
            #expect(stat(file, &status) == 0)
            chmod(file, 0o600)
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
            try handle.write(contentsOf: Data([bytes[0] ^ 1]))
            try handle.close()
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: file)
            let error = await #expect(throws: CacheError.self) { try await icons.data(for: url) }
            #expect(error?.code == .corrupt)
            #expect(icons.memory.entry(for: url.absoluteString) == nil)
        }
    }

    @Test func theBundleIsReadIfTheCacheIsDamaged() async throws {
        try await withDirectories { main, bundle in
            let files = try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            try CacheFixture.fill(
                bundle.path, with: [url.absoluteString: bytes],
                receivedAt: Date(timeIntervalSinceNow: -100))
            unlink(try #require(files[url.absoluteString]))
            let entry = try #require(try await icons(main, bundle: bundle).entry(for: url))
            #expect(Array(entry.data) == bytes)
            guard case .bundle = entry.source else { return #expect(Bool(false)) }
        }
    }

    /// Only an icon whose own bytes are damaged is replaced in the cache.
    @Test func theErrorOfADamagedIconIsNotThatOfAnUnreadableBundle() async throws {
        try await withDirectories { main, bundle in
            let files = try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            try CacheFixture.fill(bundle.path, with: [url.absoluteString: bytes])
            unlink(try #require(files[url.absoluteString]))
            try Data("no index".utf8).write(to: bundle.appendingPathComponent("index.sqlite"))
            let icons = icons(main, bundle: bundle)
            let error = await #expect(throws: CacheError.self) { try await icons.data(for: url) }
            #expect(error?.code == .corrupt)
        }
    }

    // MARK: - Concurrent reads

    @Test func readersOfOneIconShareOneRead() async throws {
        try await withDirectories { main, _ in
            try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let icons = icons(main)
            icons.queue.isSuspended = true
            let tasks = (0..<10).map { _ in Task { try await icons.data(for: url) } }
            // The first caller adds the operation, possibly after all callers have joined.
            while icons.readers < 10 || icons.queue.operationCount == 0 { await Task.yield() }
            #expect(icons.queue.operationCount == 1)
            icons.queue.isSuspended = false
            for task in tasks { #expect(try await task.value == Data(bytes)) }
            #expect(icons.memory.counts.insertions == 1)
        }
    }

    @Test func aCancelledReaderReadsNothing() async throws {
        try await withDirectories { main, _ in
            try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let icons = icons(main)
            icons.queue.isSuspended = true
            let task = Task { try await icons.data(for: url) }
            while icons.readers < 1 { await Task.yield() }
            task.cancel()
            // The queue is still suspended.
            await #expect(throws: CancellationError.self) { try await task.value }
            icons.queue.isSuspended = false
            // This read is queued after the cancelled one.
            #expect(try await icons.data(for: URL(string: "https://b.example/")!) == nil)
            #expect(icons.memory.counts.insertions == 0)
        }
    }

    @Test func otherReadersOfAnIconReceiveItIfOneIsCancelled() async throws {
        try await withDirectories { main, _ in
            try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let icons = icons(main)
            icons.queue.isSuspended = true
            let tasks = (0..<2).map { _ in Task { try await icons.data(for: url) } }
            while icons.readers < 2 { await Task.yield() }
            tasks[0].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[0].value }
            icons.queue.isSuspended = false
            #expect(try await tasks[1].value == Data(bytes))
        }
    }

    @Test func anErrorReachesAllReadersAndIsNotRemembered() async throws {
        try await withDirectories { main, _ in
            let files = try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let file = URL(fileURLWithPath: try #require(files[url.absoluteString]))
            chmod(file.path, 0o600)
            try Data([bytes[0] ^ 1] + bytes.dropFirst()).write(to: file)
            let icons = icons(main)
            icons.queue.isSuspended = true
            let tasks = (0..<2).map { _ in Task { try await icons.data(for: url) } }
            while icons.readers < 2 { await Task.yield() }
            icons.queue.isSuspended = false
            for task in tasks {
                let error = await #expect(throws: CacheError.self) { try await task.value }
                #expect(error?.code == .corrupt)
            }
            #expect(icons.readers == 0)
            try Data(bytes).write(to: file)
            #expect(try await icons.data(for: url) == Data(bytes))
        }
    }

    /// In any order of cancellations and results, each caller resumes once and no reader remains.
    @Test func everyReaderResumesDespiteCancellations() async throws {
        try await withDirectories { main, _ in
            try CacheFixture.fill(main.path, with: [url.absoluteString: bytes])
            let icons = icons(main)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<1_000 {
                    group.addTask {
                        if number % 5 == 0 { icons.memory.removeAll() }
                        let task = Task { try await icons.data(for: url) }
                        if number % 3 == 0 { task.cancel() }
                        switch await task.result {
                        case .success(let data): #expect(data == Data(bytes))
                        case .failure(let error): #expect(error is CancellationError)
                        }
                    }
                }
            }
            #expect(icons.readers == 0)
        }
    }

    /// A flush closes the cache, which once made concurrent reads fail.
    @Test func readsAndFlushesRunConcurrently() async throws {
        try await withDirectories { main, _ in
            let urls = (0..<100).map { "https://a.example/\($0)" }
            try CacheFixture.fill(
                main.path,
                with: Dictionary(
                    uniqueKeysWithValues: urls.enumerated().map { ($1, Array("\($0)".utf8)) }))
            let icons = icons(main)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<4 {
                    group.addTask {
                        for round in 0..<5 {
                            for (number, url) in urls.enumerated() {
                                let url = try #require(URL(string: url))
                                #expect(try await icons.data(for: url) == Data("\(number)".utf8))
                            }
                            if (task + round) % 2 == 0 { icons.memory.removeAll() }
                        }
                    }
                }
                for _ in 0..<200 { await icons.flush() }
                try await group.waitForAll()
            }
        }
    }

    @Test func aFlushCompletesInACancelledTask() async throws {
        try await withDirectories { main, _ in
            try CacheFixture.fill(
                main.path, with: [url.absoluteString: bytes],
                receivedAt: Date(timeIntervalSinceNow: -86_400))
            let icons = icons(main)
            _ = try await icons.data(for: url)
            await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await icons.flush()
            }.value
            let used = try usedAt(main)
            #expect(used > Date(timeIntervalSinceNow: -3_600))
        }
    }

    // MARK: - Use

    private func usedAt(_ directory: URL) throws -> Date {
        let cache = try Cache.open(at: directory.path)
        defer { cache.close() }
        return try #require(try cache.resource(url.absoluteString)).object.usedAt
    }

    @Test func usesOfIconsAreRecordedForEviction() async throws {
        try await withDirectories { main, _ in
            try CacheFixture.fill(
                main.path, with: [url.absoluteString: bytes],
                receivedAt: Date(timeIntervalSinceNow: -86_400))
            let icons = icons(main)
            let before = try usedAt(main)
            #expect(before < Date(timeIntervalSinceNow: -80_000))
            _ = try await icons.data(for: url)
            await icons.flush()
            let after = try usedAt(main)
            #expect(after > Date(timeIntervalSinceNow: -3_600))
        }
    }

    @Test(.timeLimit(.minutes(1))) func anUnusedIconCacheIsReleased() async throws {
        weak var released: IconCache?
        weak var memory: MemoryCache?
        try await withDirectories { main, _ in
            try CacheFixture.fill(
                main.path, with: [url.absoluteString: bytes],
                receivedAt: Date(timeIntervalSinceNow: -86_400))
            let icons = icons(main)
            (released, memory) = (icons, icons.memory)
            _ = try await icons.data(for: url)
            await icons.flush()
        }
        // The operation of `flush` has a reference, and ends after the call.
        while released != nil || memory != nil, !Task.isCancelled { await Task.yield() }
        #expect(released == nil && memory == nil)
    }
}
