import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

/// Log messages of cache operations.
@Suite struct CacheLogTests {
    /// Returns the lines that `body` logs. Each line starts with its level.
    private func lines(_ body: (CacheLog) throws -> Void) rethrows -> [String] {
        let lines = Mutex<[String]>([])
        try body(
            CacheLog { level, message in lines.withLock { $0.append("\(level): \(message())") } })
        return lines.withLock { $0 }
    }

    @Test func aCommittedBatchIsLogged() throws {
        try withTemporaryDirectory { directory in
            let lines = try lines { log in
                let store = try Cache.create(at: directory.path, log: log).store()
                defer { store.close() }
                try store.put([1, 2, 3], at: "a")
                try store.put([4, 5], at: "b")
                store.flush()
            }
            let batches = lines.filter { $0.contains("committed") }
            #expect(batches.count == 1)
            #expect(batches[0].hasPrefix("debug: committed 2 deposits, 5 bytes, in "))
        }
    }

    @Test func anEvictionIsLogged() throws {
        try withTemporaryDirectory { directory in
            _ = try Cache.filled(
                at: directory.path, with: ["a": [1], "b": [2, 2], "c": [3, 3, 3]])
            let lines = try lines { log in
                let cache = try Cache.open(at: directory.path, log: log)
                _ = try cache.pin(keys(["c"]))
                var policy = EvictionPolicy()
                policy.maximumObjects = 0
                #expect(try cache.evict(policy).missed == [.count])
            }
            let summary = "info: evicted 2 objects (3 bytes, count: 2), kept 1, remaining 1"
            #expect(lines.contains(summary))
        }
    }

    @Test func aRebuiltIndexIsLogged() throws {
        try withTemporaryDirectory { directory in
            _ = try Cache.filled(at: directory.path, with: ["a": [1]])
            for name in CacheLayout.indexFiles { unlink(directory.path(name)) }
            let lines = try lines { _ = try Cache.create(at: directory.path, log: $0) }
            #expect(lines.count == 1)
            #expect(lines[0].hasPrefix("notice: rebuilt the index from snapshot: 1 objects, 1 "))
        }
    }

    @Test func aWaitForALockIsLogged() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path, with: ["a": [1]])
            let isLogged = Mutex(false)
            let log = CacheLog { _, message in
                if message().contains("another process is using the cache") {
                    isLogged.withLock { $0 = true }
                }
            }
            let wait = LockWait(limit: nil, isCancelled: { isLogged.withLock { $0 } })
            #expect(throws: CacheError.self) {
                try Cache.reindex(at: directory.path, wait: wait, log: log)
            }
            withExtendedLifetime(cache) {}
        }
    }

    @Test func messagesAreBuiltOnlyIfTheLogReadsThem() {
        let made = Mutex(0)
        func message() -> String {
            made.withLock { $0 += 1 }
            return ""
        }
        CacheLog.none(.warning, message())
        CacheLog { _, _ in }(.warning, message())
        #expect(made.withLock { $0 } == 0)
        CacheLog { _, message in _ = message() }(.warning, message())
        #expect(made.withLock { $0 } == 1)
    }
}
