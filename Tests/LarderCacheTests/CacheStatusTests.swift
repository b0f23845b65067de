import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

@Suite struct CacheStatusTests {
    @Test func statusTotalsMatchTheFilesOnDisk() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            for seed in 0..<100 { try store.put(noise(seed * 137, seed: seed % 90), at: "\(seed)") }
            store.flush()
            var (files, bytes, blocks) = (0, Int64(0), Int64(0))
            for name in Tree.files(directory.path("objects")) {
                var status = stat()
                #expect(lstat(directory.path("objects/\(name)"), &status) == 0)
                files += 1
                bytes += Int64(status.st_size)
                blocks += Int64(status.st_blocks)
            }
            let status = try cache.status()
            #expect(status.path == directory.path)
            #expect((status.totals.objects, status.totals.bytes) == (files, bytes))
            #expect(status.totals.resources == 100)
            #expect(status.diskBytes == blocks * 512)
            #expect(status.temporaries == 1)
            #expect(status.quarantined == 0 && status.runs.isEmpty && status.totals.pins == 0)
            #expect(status.totals.oldestUse != nil && status.totals.newestUse != nil)
            var indexBytes: Int64 = 0
            for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
                var status = stat()
                #expect(lstat(directory.path(name), &status) == 0)
                indexBytes += Int64(status.st_size)
            }
            #expect(status.indexBytes == indexBytes)
            withExtendedLifetime(store) {}
        }
    }
}
