import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderIcons

@Suite(.timeLimit(.minutes(30))) struct IconLoaderTests: LoaderSuite {
    private struct Fault: Error {}

    @Test func iconsInMemoryAreDeliveredSynchronously() async throws {
        let loader = loader(nil)
        loader.cache.memory.insert(
            MemoryCache.Entry(data: Data(bytes), source: .bundle), for: url("a").absoluteString)
        let received = ReceivedStates()
        loader.load(url("a")) { received.append($0) }
        guard case .image(let entry, from: .memory)? = received.last else {
            return #expect(Bool(false), "\(String(describing: received.last))")
        }
        #expect(entry.data == Data(bytes) && received.count == 1)
        guard case .image(_, from: .memory) = loader.state(for: url("a")) else {
            return #expect(Bool(false))
        }
    }

    @Test func iconsAreReadFromDiskBeforeTheNetwork() async throws {
        try await withTemporaryDirectory { directory in
            let main = URL(fileURLWithPath: directory.path("cache"))
            let bundle = URL(fileURLWithPath: directory.path("bundle"))
            try CacheFixture.fill(main.path, with: [url("main").absoluteString: bytes])
            try CacheFixture.fill(bundle.path, with: [url("bundle").absoluteString: bytes])
            let fetcher = ScriptedFetcher { _ in icon() }
            let loader = loader(fetcher, at: main, bundle: bundle)
            var sources: [IconSource] = []
            for name in ["main", "bundle", "network", "main"] {
                for await case .image(let entry, let source) in loader.states(for: url(name)) {
                    #expect(entry.data == Data(bytes))
                    sources.append(source)
                }
            }
            #expect(sources == [.disk, .bundle, .network, .memory])
            #expect(fetcher.requested == ["network"])
        }
    }

    @Test func manyWaitersShareOneFetch() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        let received = ReceivedStates()
        for _ in 0..<50 { loader.load(url("a")) { received.append($0) } }
        await fetcher.wait(for: 1)
        for _ in 0..<50 { loader.load(url("a")) { received.append($0) } }
        fetcher.finish("a", .success(icon()))
        await until { received.count == 100 }
        #expect(fetcher.count == 1 && loader.loadCount == 0)
        #expect(received.last?.entry?.data == Data(bytes))
    }

    @Test func iconsWithTheHighestPriorityAreFetchedFirst() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher) { $0.concurrentFetches = 1 }
        let received = ReceivedStates()
        func load(_ name: String, _ priority: IconPriority) -> IconTask {
            loader.load(url(name), priority: priority) { received.append($0) }
        }
        _ = load("first", .normal)
        await fetcher.wait(for: 1)
        let low = load("low", .low)
        let tasks = ["a", "b", "c"].map { load($0, .normal) }
        // All icons are looked up on disk before they wait for the network.
        for name in ["low", "a", "b", "c"] {
            await until {
                if case .placeholder(.network) = loader.state(for: url(name)) {
                    true
                } else {
                    false
                }
            }
        }
        tasks[2].setPriority(.veryHigh)
        low.setPriority(.high)
        tasks[0].setPriority(.veryLow)
        // Another waiter raises the priority of the load.
        _ = load("b", .veryHigh)
        for (number, name) in ["first", "c", "b", "low", "a"].enumerated() {
            await fetcher.wait(for: number + 1)
            #expect(fetcher.requested.last == name)
            fetcher.finish(name, .success(icon()))
        }
        #expect(fetcher.requested == ["first", "c", "b", "low", "a"])
    }

    @Test func aRunningFetchReceivesPriorityChanges() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        loader.prefetch([url("a")])
        await fetcher.wait(for: 1)
        let task = loader.load(url("a"), priority: .high) { _ in }
        task.setPriority(.veryHigh)
        task.setPriority(.veryHigh)
        task.cancel()
        #expect(fetcher.priorities == [.low, .high, .veryHigh, .low])
        loader.stopPrefetching([url("a")])
        await until { fetcher.cancelled == 1 }
    }

    @Test func failuresAreRememberedForATimeButNotCachedAsIcons() async throws {
        let clock = Changing(Date(timeIntervalSince1970: 0))
        let fetcher = ScriptedFetcher { url in
            throw url.lastPathComponent == "patient"
                ? IconFailure(.fetch, url: url, "later", retryAfter: 3600) : Fault()
        }
        let loader = IconLoader(
            cache: IconCache(memory: MemoryCache(pressure: nil)), fetcher: fetcher,
            options: IconLoader.Options(), now: { clock.value })
        for name in ["a", "patient", "a", "patient"] {
            await #expect(throws: IconFailure.self) { try await loader.icon(for: url(name)) }
        }
        #expect(fetcher.requested == ["a", "patient"])
        guard case .failed(let failure, from: .memory) = loader.state(for: url("a")) else {
            return #expect(Bool(false))
        }
        #expect(failure.code == .fetch && failure.underlying is Fault)
        #expect(loader.cache.memory.counts.insertions == 0)
        loader.prefetch([url("a")])
        #expect(loader.loadCount == 0)

        clock.value += 61
        for name in ["a", "patient"] {
            await #expect(throws: IconFailure.self) { try await loader.icon(for: url(name)) }
        }
        #expect(fetcher.requested == ["a", "patient", "a"])
        loader.forgetFailures()
        _ = try? await loader.icon(for: url("patient"))
        #expect(fetcher.requested == ["a", "patient", "a", "patient"])
    }

    @Test func withoutAFetcherAnUncachedIconFails() async throws {
        let loader = loader(nil)
        let failure = await #expect(throws: IconFailure.self) {
            try await loader.icon(for: url("a"))
        }
        #expect(failure?.code == .notCached)
        // This failure is not remembered, because the icon may have been cached since.
        guard case .placeholder(nil) = loader.state(for: url("a")) else {
            return #expect(Bool(false))
        }
    }

    @Test func fetchedIconsAreStoredOnDisk() async throws {
        try await withTemporaryDirectory { directory in
            let main = URL(fileURLWithPath: directory.path("cache"))
            let secret = URL(string: "https://name:word@a.example/secret")!
            let fetcher = ScriptedFetcher { url in
                let cacheControl = url.lastPathComponent == "private" ? "no-store" : "max-age=60"
                return FetchedIcon(
                    data: Data(bytes), mediaType: "image/png",
                    headers: [("etag", "\"1\""), ("Cache-Control", cacheControl)])
            }
            let loader = loader(fetcher, at: main)
            for url in [url("a"), url("private"), secret] {
                #expect(try await loader.icon(for: url).data == Data(bytes))
            }
            await loader.cache.flush()
            #expect(loader.cache.storeFailure == nil)

            let cache = try Cache.open(at: main.path)
            let resource = try #require(try cache.resource(url("a").absoluteString))
            #expect(resource.validators.etag == "\"1\"")
            #expect(resource.object.mediaType == "image/png")
            var keys: [String] = []
            try cache.forEachResource { keys.append($0.key) }
            #expect(keys == [url("a").absoluteString])
            cache.close()
            let offline = self.loader(nil, at: main)
            #expect(try await offline.icon(for: url("a")).data == Data(bytes))
        }
    }

    @Test func fetchedIconsAreFoundByOtherSpellingsOfTheirURL() async throws {
        try await withTemporaryDirectory { directory in
            let main = URL(fileURLWithPath: directory.path("cache"))
            let fetcher = ScriptedFetcher { _ in icon() }
            let noMemory = MemoryCache(costLimit: 0, pressure: nil)
            let loader = loader(fetcher, memory: noMemory, at: main)
            let spelled = try #require(URL(string: "HTTPS://A.Example:443/x/../%61#top"))
            _ = try await loader.icon(for: spelled)
            // The icon is found before its commit and after it.
            _ = try await loader.icon(for: url("a"))
            await loader.cache.flush()
            for url in [spelled, url("a")] {
                #expect(try await loader.icon(for: url).data == Data(bytes))
            }
            #expect(fetcher.count == 1)
            await loader.cache.flush()
            let cache = try Cache.open(at: main.path)
            var keys: [String] = []
            try cache.forEachResource { keys.append($0.key) }
            #expect(keys == ["https://a.example/a"])
        }
    }

    @Test func iconsOfURLsWithCredentialsAreNotStored() async throws {
        try await withTemporaryDirectory { directory in
            let main = URL(fileURLWithPath: directory.path("cache"))
            let loader = loader(ScriptedFetcher { _ in icon() }, at: main)
            let secret = try #require(URL(string: "https://me:pw@a.example/b"))
            #expect(try await loader.icon(for: secret).data == Data(bytes))
            await loader.cache.flush()
            #expect(loader.state(for: secret).entry?.data == Data(bytes))
            #expect(!FileManager.default.fileExists(atPath: main.path))
        }
    }

    /// The memory cache is disabled, and a batch is committed only after a second.
    @Test func uncommittedIconsAreNotFetchedAgain() async throws {
        try await withTemporaryDirectory { directory in
            let main = URL(fileURLWithPath: directory.path("cache"))
            let fetcher = ScriptedFetcher { _ in icon() }
            let loader = loader(fetcher, memory: MemoryCache(costLimit: 0, pressure: nil), at: main)
            for _ in 0..<3 {
                for number in 0..<20 {
                    _ = try await loader.icon(for: url("\(number)"))
                    // The icon may not even be staged yet.
                    _ = try await loader.icon(for: url("\(number)"))
                    #expect(try await loader.cache.entry(for: url("\(number)")) != nil)
                }
            }
            #expect(fetcher.count == 20)
        }
    }

    @Test func aDamagedIconIsFetchedAgain() async throws {
        try await withTemporaryDirectory { directory in
            let main = URL(fileURLWithPath: directory.path("cache"))
            let key = url("a").absoluteString
            let files = try CacheFixture.fill(main.path, with: [key: bytes])
            let file = try #require(files[key])
            chmod(file, 0o644)
            try Data(repeating: 1, count: bytes.count).write(to: URL(fileURLWithPath: file))
            let offline = loader(nil, at: main)
            let failure = await #expect(throws: IconFailure.self) {
                try await offline.icon(for: url("a"))
            }
            #expect(failure?.code == .unreadable && failure?.underlying is CacheError)

            // The server returns the same bytes, and then other bytes.
            for bytes in [bytes, IconPainter.png(seed: 2, size: 8)] {
                let fetcher = ScriptedFetcher { _ in icon(bytes) }
                chmod(file, 0o644)
                try Data(repeating: 1, count: self.bytes.count)
                    .write(to: URL(fileURLWithPath: file))
                let online = loader(fetcher, at: main)
                #expect(try await online.icon(for: url("a")).data == Data(bytes))
                await online.cache.flush()
                let again = loader(nil, at: main)
                #expect(try await again.icon(for: url("a")).data == Data(bytes))
            }
        }
    }

    @Test func iconsAreDeliveredIfTheCacheCannotBeWritten() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.path("file")
            try Data().write(to: URL(fileURLWithPath: file))
            let fetcher = ScriptedFetcher { _ in icon() }
            let loader = loader(fetcher, at: URL(fileURLWithPath: file))
            #expect(try await loader.icon(for: url("a")).data == Data(bytes))
            await loader.cache.flush()
            #expect(loader.cache.storeFailure != nil)
        }
    }

    @Test func aStreamYieldsAPlaceholderAndThenTheIcon() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        var states = loader.states(for: url("a")).makeAsyncIterator()
        guard case .placeholder(.disk)? = await states.next() else {
            return #expect(Bool(false))
        }
        await fetcher.wait(for: 1)
        guard case .placeholder(.network) = loader.state(for: url("a")) else {
            return #expect(Bool(false))
        }
        fetcher.finish("a", .success(icon()))
        guard case .image(_, from: .network)? = await states.next() else {
            return #expect(Bool(false))
        }
        #expect(await states.next() == nil)
    }

    @Test func anIconThatCannotBeStoredDoesNotAffectOthers() async throws {
        try await withTemporaryDirectory { directory in
            let main = URL(fileURLWithPath: directory.path("cache"))
            let other = IconPainter.png(seed: 2, size: 8)
            // A directory is in the place of the object's file.
            let files = try CacheFixture.fill(main.path, with: ["https://a.example/x": bytes])
            let file = try #require(files["https://a.example/x"])
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(
                atPath: file, withIntermediateDirectories: false)
            let fetcher = ScriptedFetcher { url in
                url.lastPathComponent == "a" ? icon() : icon(other)
            }
            let loader = loader(fetcher, at: main)
            _ = try await loader.icon(for: url("a"))
            await loader.cache.flush()
            #expect(loader.cache.storeFailure?.code == .obstructed)
            // The failure does not delay the storage of other icons.
            _ = try await loader.icon(for: url("b"))
            await loader.cache.flush()
            #expect(loader.cache.storeFailure == nil)
            let cache = try Cache.open(at: main.path)
            #expect(try cache.resource(url("a").absoluteString) == nil)
            #expect(try cache.resource(url("b").absoluteString) != nil)
        }
    }
}
