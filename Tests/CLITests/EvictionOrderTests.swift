import Foundation
import LarderCache
import LarderTestSupport
import Testing

/// The order in which an eviction makes its changes durable, and failures in between.
@Suite(.enabled(if: FaultShim.isPossible)) struct EvictionOrderTests {
    /// A power cut can lose the writes since the last sync. In the worst case, the files are gone
    /// and the rows are not.
    @Test func filesAreRemovedAfterTheDeletionOfTheirRowsIsDurable() async throws {
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
                    environment: shim.killing(atSync: number, below: cache))
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

    /// A step that runs out of time leaves the remaining files to the next step.
    @Test func allFilesAreRemovedFromASlowDisk() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(60))
            #expect(try larder.prefetch(manifest).status == 0)
            let shim = try FaultShim(in: larder.directory)
            let finished = try larder.binary.run(
                ["evict", "--max-count", "0", "--cache", larder.cache],
                environment: shim.slowingRemovals(by: 15, below: larder.cache))
            #expect(finished.status == 0, "\(finished)")
            let remaining = FileManager.default.enumerator(atPath: larder.cache + "/objects")
            #expect(remaining?.filter { ($0 as? String)?.count ?? 0 > 64 }.count == 0)
        }
    }

    // MARK: Missing descriptors

    /// Evictions of all icons from copies of a cache with 60 icons, during which opening an object
    /// directory fails with EMFILE.
    private struct Shortage {
        let larder: CLIFixture
        let shim: FaultShim

        init(_ larder: CLIFixture) throws {
            self.larder = larder
            shim = try FaultShim(in: larder.directory)
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(60))
            #expect(try larder.prefetch(manifest).status == 0)
        }

        /// Returns the object files of a cache, relative to `objects/sha256`.
        func files(_ cache: String) -> [String] {
            let paths = FileManager.default.subpaths(atPath: cache + "/objects/sha256")
            return (paths ?? []).filter { $0.utf8.count > 64 }
        }

        /// - Parameters:
        ///   - number: The call to open that fails, counted from 1. If 0, calls are only logged.
        ///   - directory: The directory in `objects/sha256` to which the calls are limited.
        func evict(
            _ number: Int, in directory: String = "", isLasting: Bool = false
        ) throws -> (finished: Finished, remaining: [String], log: [Substring]?) {
            let cache = larder.directory.path("cache-\(number)")
            try FileManager.default.copyItem(atPath: larder.cache, toPath: cache)
            let log = larder.directory.path("opened-\(number)")
            let way = Fault.Way(errno: EMFILE, name: "EMFILE", isLasting: isLasting)
            let finished = try larder.binary.run(
                ["evict", "--max-count", "0", "--cache", cache],
                environment: Fault(call: .open, number: number, way: way).environment(
                    shim, root: "\(cache)/objects/sha256\(directory)", log: log),
                timeout: 60)
            let lines = try? String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            return (finished, files(cache), lines)
        }
    }

    /// Each thread that removes files has a directory open. If a thread gets no descriptor, its
    /// files are removed after the other threads finish, because the rows are already deleted.
    @Test func allFilesAreRemovedIfOneThreadGetsNoDescriptor() async throws {
        try await withFixture { larder in
            let shortage = try Shortage(larder)
            let directory = try #require(shortage.files(larder.cache).min()).prefix(2)
            var complete = 0
            // Ends at the first number that is greater than the number of calls.
            for number in 1...10 {
                let (finished, remaining, log) = try shortage.evict(number, in: "/\(directory)")
                if log == nil { break }
                // The sweep opens the directory, too. If it fails, nothing is evicted.
                #expect([0, 1].contains(finished.status), "\(finished)")
                #expect(remaining.count == (finished.status == 0 ? 0 : 60), "\(finished)")
                if finished.status == 0 { complete += 1 }
            }
            #expect(complete > 0)
        }
    }

    /// An eviction that retried forever would block all writers.
    @Test func anEvictionEndsIfNoThreadGetsADescriptor() async throws {
        try await withFixture { larder in
            let shortage = try Shortage(larder)
            let openings = try #require(try shortage.evict(0).log).count
            let directories = Set(shortage.files(larder.cache).map { $0.prefix(2) }).count
            // The removal makes the last calls.
            let (finished, remaining, _) = try shortage.evict(
                openings - directories + 5, isLasting: true)
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains("ulimit -n"), "\(finished)")
            #expect((1..<60).contains(remaining.count), "\(remaining.count) files")
        }
    }
}
