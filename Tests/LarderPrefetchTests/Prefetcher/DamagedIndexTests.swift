import Foundation
import GRDB
import LarderCache
import LarderTestSupport
import Testing

/// Damage that is not detected when the index is opened.
@Suite(.timeLimit(.minutes(30))) struct DamagedIndexTests {
    @Test(arguments: ["objects", "resources"])
    func damageFoundDuringPlanningIsRepaired(table: String) async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)) }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let text = manifest((0..<20).map { origin.url("/\($0)") })
            #expect(try await prefetch(text, into: cache).report.count(.fetched) == 20)

            // Overwrites only the root page of the table.
            let path = cache + "/index.sqlite"
            let database = try DatabaseQueue(path: path)
            let page = try await database.read { db in
                try Int.fetchOne(
                    db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table]
                )
            }
            try database.close()
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.seek(toOffset: UInt64((try #require(page) - 1) * 4096))
            try file.write(contentsOf: [UInt8](repeating: 0xA5, count: 4096))
            try file.close()

            origin.resetLog()
            let (report, _) = try await prefetch(text, into: cache)
            #expect(report.count(.cached) == 20)
            #expect(origin.count() == 0)
            #expect(try Cache.open(at: cache).verify().isClean)
        }
    }
}
