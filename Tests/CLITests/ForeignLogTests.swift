import Foundation
import GRDB
import LarderTestSupport
import Testing

/// Caches of unknown origin with a valid index, and a malicious file in place of the log or the
/// shared memory of SQLite.
@Suite struct ForeignLogTests {
    enum Planted: String, CaseIterable {
        case noise, noiseWithALogHeader, hugeAndSparse, empty

        func put(at path: String) throws {
            var random = Pseudorandom(seed: 1)
            var bytes =
                self == .empty ? [] : (0..<100_000).map { _ in UInt8(random.next(below: 256)) }
            if self == .noiseWithALogHeader {
                bytes.replaceSubrange(
                    0..<12, with: [0x37, 0x7F, 6, 0x82, 0, 0x2D, 0xE2, 0x18, 0, 0, 16, 0])
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            if self == .hugeAndSparse {
                try #require(truncate(path, 1 << 40) == 0, "\(errno)")
            }
        }
    }

    @Test(arguments: ["-wal", "-shm"], share(of: Planted.allCases))
    func anInvalidLogOrSharedMemoryFileChangesNothing(
        _ suffix: String, _ planted: Planted
    ) async throws {
        try await withFixture { larder in
            try larder.forEachCommand {
                try planted.put(at: larder.cache + "/index.sqlite" + suffix)
            } _: { command, finished in
                #expect(finished.status == 0, "\(command): \(finished)")
                let status = try larder.run("status", "--json")
                #expect(status.standardOutput.contains("\"resources\":3,"), "\(command): \(status)")
            }
        }
    }

    @Test(
        arguments: ["-wal", "-shm", "-journal"],
        share(of: [Plant.linkToFile, .danglingLink, .hardLink, .pipe, .directory]))
    func linksPipesAndDirectoriesNextToTheIndexAreRefused(
        _ suffix: String, _ plant: Plant
    ) async throws {
        try await withFixture { larder in
            let witness = larder.directory.path("witness")
            try FileManager.default.createDirectory(
                atPath: witness, withIntermediateDirectories: false)
            try Data("precious".utf8).write(to: URL(fileURLWithPath: witness + "/file"))
            let path = larder.cache + "/index.sqlite" + suffix
            var before: [[UInt8]: FilePrint] = [:]
            try larder.forEachCommand {
                try plant.put(at: Array(path.utf8), witness: witness)
                before = FilePrint.tree(Array(witness.utf8))
            } _: { command, finished in
                #expect(finished.status == 1, "\(command): \(finished)")
                #expect(finished.standardError.contains("index.sqlite" + suffix), "\(finished)")
                #expect(FilePrint.tree(Array(witness.utf8)) == before, "\(command)")
                #expect(FilePrint(Array(path.utf8)) != nil, "\(command)")
            }
        }
    }

    @Test func aLogThatMarksTheIndexAsReadOnlyIsDamage() async throws {
        try await withFixture { larder in
            try larder.forEachCommand {
                let path = larder.cache + "/index.sqlite"
                let pages = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
                var first = Array(pages.prefix(4096))
                first[18] = 113
                let log = log(ofFirstPage: first, pages: pages.count / 4096)
                try Data(log).write(to: URL(fileURLWithPath: path + "-wal"))
            } _: { command, finished in
                finished.expectRefusalOrRepair(of: command)
            }
        }
    }

    /// Returns a log with one page and valid checksums (sqlite.org/fileformat2.html, "The WAL
    /// File").
    private func log(ofFirstPage page: [UInt8], pages: Int) -> [UInt8] {
        var sum: (UInt32, UInt32) = (0, 0)
        func bytes(_ numbers: [UInt32]) -> [UInt8] {
            numbers.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) }
        }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
            bytes.reduce(0) { $0 << 8 | UInt32($1) }
        }
        func add(_ bytes: [UInt8]) -> [UInt8] {
            for start in stride(from: 0, to: bytes.count, by: 8) {
                sum.0 &+= number(bytes[start..<start + 4]) &+ sum.1
                sum.1 &+= number(bytes[start + 4..<start + 8]) &+ sum.0
            }
            return bytes
        }
        let head = add(bytes([0x377F_0683, 3_007_000, UInt32(page.count), 0, 1, 2]))
        let headSum = bytes([sum.0, sum.1])
        let frame = add(bytes([1, UInt32(pages)]))
        _ = add(page)
        return head + headSum + frame + bytes([1, 2, sum.0, sum.1]) + page
    }

    /// SQLite wrote the pages of the log, so their checksums are valid.
    @Test func aLogThatReplacesATableWithAViewIsDamage() async throws {
        try await withFixture { larder in
            let path = larder.cache + "/index.sqlite"
            let aside = larder.directory.path("aside.sqlite")
            var log: Data?
            try larder.forEachCommand {
                if log == nil {
                    try FileManager.default.copyItem(atPath: path, toPath: aside)
                    let queue = try DatabaseQueue(path: aside)
                    try queue.writeWithoutTransaction {
                        try $0.execute(
                            sql: """
                                ALTER TABLE pins RENAME TO aside;
                                CREATE VIEW pins AS WITH RECURSIVE c(x) AS
                                    (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS key FROM c
                                """)
                    }
                    log = try Data(contentsOf: URL(fileURLWithPath: aside + "-wal"))
                    try queue.close()
                }
                try #require(log).write(to: URL(fileURLWithPath: path + "-wal"))
            } _: { command, finished in
                finished.expectRefusalOrRepair(of: command)
            }
        }
    }

    /// Copying the number of pages that the log states would fill the disk.
    @Test func aLogThatStatesATerabyteIsDamage() async throws {
        try await withFixture { larder in
            let path = larder.cache + "/index.sqlite"
            let aside = larder.directory.path("aside.sqlite")
            var log: Data?
            try larder.forEachCommand {
                if log == nil {
                    try FileManager.default.copyItem(atPath: path, toPath: aside)
                    try larder.stretch(aside)
                    let queue = try DatabaseQueue(path: aside)
                    try queue.writeWithoutTransaction {
                        try $0.execute(sql: "PRAGMA user_version = 1")
                    }
                    log = try Data(contentsOf: URL(fileURLWithPath: aside + "-wal"))
                    try queue.close()
                }
                try #require(log).write(to: URL(fileURLWithPath: path + "-wal"))
            } _: { command, finished in
                finished.expectRefusalOrRepair(of: command)
            }
        }
    }
}
