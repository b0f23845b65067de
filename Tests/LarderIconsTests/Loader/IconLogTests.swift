import Foundation
import LarderCache
import Synchronization
import Testing

@testable import LarderIcons

/// The log messages of icon loaders and memory caches.
@Suite struct IconLogTests: LoaderSuite {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }

        var log: CacheLog {
            CacheLog { [self] level, message in
                let line = "\(level): \(message())"
                lines.withLock { $0.append(line) }
            }
        }
    }

    private struct Odd: Error {
        let url: URL
    }

    private func secret(_ name: String) throws -> URL {
        try #require(URL(string: "https://user:pass@a.example/\(name)?token=sEcReT"))
    }

    @Test func fetchesOfIconsAreLoggedWithoutSecrets() async throws {
        let lines = Lines()
        let cache = IconCache(memory: MemoryCache(pressure: nil), log: lines.log)
        let fetcher = ScriptedFetcher { url in
            if url.lastPathComponent == "bad" {
                throw IconFailure(.fetch, url: url, "the server answered with status 500")
            }
            if url.lastPathComponent == "odd" { throw Odd(url: url) }
            return self.icon()
        }
        let loader = IconLoader(cache: cache, fetcher: fetcher)
        _ = try await loader.icon(for: secret("good"))
        for name in ["bad", "odd"] {
            await #expect(throws: IconFailure.self) { try await loader.icon(for: secret(name)) }
        }
        let all = lines.all.joined(separator: "\n")
        #expect(all.contains("debug: fetching https://***@a.example/good?"))
        #expect(all.contains(": \(bytes.count) bytes"))
        #expect(all.contains("info: could not fetch https://***@a.example/bad?"))
        #expect(all.contains(": the server answered with status 500"))
        #expect(all.contains(": Odd"))
        #expect(!all.contains("sEcReT") && !all.contains("pass"))
    }

    @Test func joinedLoadsOfIconsAreLogged() throws {
        let lines = Lines()
        let cache = IconCache(memory: MemoryCache(pressure: nil), log: lines.log)
        let loader = IconLoader(cache: cache, fetcher: ScriptedFetcher())
        for _ in 0..<2 { loader.load(try secret("icon")) { _ in } }
        let joined = lines.all.filter { $0.hasPrefix("debug: joined the load of ") }
        #expect(joined.count == 1 && !joined[0].contains("sEcReT"))
    }

    @Test func evictionsByMemoryPressureAreLogged() throws {
        let lines = Lines()
        let memory = MemoryCache(pressure: nil, log: lines.log)
        for name in ["a", "b"] {
            memory.insert(.init(data: Data(bytes), source: .disk), for: name)
        }
        memory.respond(to: .normal)
        memory.respond(to: .critical)
        #expect(lines.all == ["info: memory pressure (critical) evicted 2 icons"])
    }
}
