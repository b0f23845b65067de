import Foundation
import LarderCache
import LarderTestSupport
import Testing

/// In which order an eviction makes durable what it does.
@Suite(.enabled(if: FaultShim.isPossible)) struct EvictionOrderTests {
    /// With the power goes what was written since the last sync, and at worst that alone: the files
    /// are gone, and the rows are what they were before it.
    @Test func noFileGoesBeforeThatItsRowIsGoneIsDurable() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(40))
            #expect(try larder.prefetch(manifest).status == 0)
            let shim = try FaultShim(in: larder.directory)
            var durable = larder.cache
            var isDone = false
            for number in 1...100 where !isDone {
                let cache = larder.directory.path("killed-at-\(number)")
                try FileManager.default.copyItem(atPath: larder.cache, toPath: cache)
                let finished = try larder.binary.run(
                    ["evict", "--max-count", "0", "--cache", cache],
                    environment: shim.killing(atSync: number, beneath: cache))
                isDone = finished.status == 0
                let remains = larder.directory.path("cut-at-\(number)")
                try FileManager.default.copyItem(atPath: durable, toPath: remains)
                try FileManager.default.removeItem(atPath: remains + "/objects")
                try FileManager.default.copyItem(
                    atPath: cache + "/objects", toPath: remains + "/objects")
                let opened = try Cache.open(at: remains)
                defer { opened.close() }
                #expect(try opened.verify().count(.missing) == 0, "sync \(number): \(finished)")
                durable = cache
            }
            #expect(isDone)
        }
    }

    /// What one step has no time for is the next one's.
    @Test func allFilesGoOfADiskThatIsSlowToRemoveThem() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(60))
            #expect(try larder.prefetch(manifest).status == 0)
            let shim = try FaultShim(in: larder.directory)
            let finished = try larder.binary.run(
                ["evict", "--max-count", "0", "--cache", larder.cache],
                environment: shim.slowingRemovals(by: 15, beneath: larder.cache))
            #expect(finished.status == 0, "\(finished)")
            let left = FileManager.default.enumerator(atPath: larder.cache + "/objects")
            #expect(left?.filter { ($0 as? String)?.count ?? 0 > 64 }.count == 0)
        }
    }
}
