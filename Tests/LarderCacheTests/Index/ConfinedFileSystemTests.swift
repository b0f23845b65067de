import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache

@Suite struct ConfinedFileSystemTests {
    /// Playing back this journal would delete the file `victim`. Every kind of access must ignore
    /// it.
    @Test(
        arguments: [
            (.writing, CacheLayout.index), (.reading, CacheLayout.index),
            (.alone, CacheLayout.index),
            (.withLog, CacheLayout.index), (.alone, CacheLayout.snapshot),
        ] as [(DatabaseFile.Access, String)])
    func aPlantedJournalIsNotPlayedBack(_ access: DatabaseFile.Access, _ name: String) throws {
        try withTemporaryDirectory { directory in
            let (root, victim) = (directory.path("cache"), directory.path("victim"))
            try Cache.create(at: root).close()
            let path = "\(root)/\(name)"
            if name != CacheLayout.index { #expect(rename("\(root)/index.sqlite", path) == 0) }
            try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
            // In WAL mode, SQLite would not look for a journal.
            let queue = try DatabaseQueue(path: path)
            try queue.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA journal_mode = DELETE")
            }
            try queue.close()
            let pages = try Data(contentsOf: URL(fileURLWithPath: path)).count / 4096
            let journal = HotJournal.bytes(naming: victim, pages: UInt32(pages))
            try Data(journal).write(to: URL(fileURLWithPath: path + "-journal"))

            let cache = try CacheDirectory(path: root, create: false, lock: .none)
            let own = try DatabaseFile(name, in: cache).open(access)
            #expect(try own.unsafeRead { try $0.tableExists("pins") })
            try own.close()
            #expect(FileManager.default.fileExists(atPath: victim))
            // SQLite's own file system plays the journal back.
            #expect(try DatabaseQueue(path: path).read { try $0.tableExists("pins") })
            #expect(
                !FileManager.default.fileExists(atPath: victim), "the planted journal has no effect"
            )
        }
    }
}
