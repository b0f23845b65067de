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

    // MARK: Without descriptors

    /// Evicts all icons from copies of a cache of 60, while openings of directories of objects fail
    /// for want of a descriptor.
    private struct Shortage {
        let larder: CLIFixture
        let shim: FaultShim

        init(_ larder: CLIFixture) throws {
            self.larder = larder
            shim = try FaultShim(in: larder.directory)
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(60))
            #expect(try larder.prefetch(manifest).status == 0)
        }

        /// The files of a cache, each with the name of its directory before it.
        func files(_ cache: String) -> [String] {
            let paths = FileManager.default.subpaths(atPath: cache + "/objects/sha256")
            return (paths ?? []).filter { $0.utf8.count > 64 }
        }

        /// - Parameters:
        ///   - number: Which opening fails, the first is 1; 0: none, but all are logged.
        ///   - place: The directory that it is beneath, itself beneath that of all objects.
        func evict(
            _ number: Int, beneath place: String = "", isLasting: Bool = false
        ) throws -> (finished: Finished, left: [String], log: [Substring]?) {
            let cache = larder.directory.path("cache-\(number)")
            try FileManager.default.copyItem(atPath: larder.cache, toPath: cache)
            let log = larder.directory.path("opened-\(number)")
            let way = Fault.Way(errno: EMFILE, name: "EMFILE", isLasting: isLasting)
            let finished = try larder.binary.run(
                ["evict", "--max-count", "0", "--cache", cache],
                environment: Fault(call: .open, number: number, way: way).environment(
                    shim, root: "\(cache)/objects/sha256\(place)", log: log),
                timeout: 60)
            let lines = try? String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            return (finished, files(cache), lines)
        }
    }

    /// Threads that share the files have a directory open each. What one of them had no descriptor
    /// for is removed once the others are done: its rows are gone.
    @Test func noFileStaysBecauseOneThreadHadNoDescriptor() async throws {
        try await withFixture { larder in
            let shortage = try Shortage(larder)
            let fanOut = try #require(shortage.files(larder.cache).min()).prefix(2)
            var complete = 0
            // Until it is not opened so often.
            for number in 1...10 {
                let (finished, left, log) = try shortage.evict(number, beneath: "/\(fanOut)")
                if log == nil { break }
                // The sweep opens it, too, and ends the eviction before it has begun.
                #expect([0, 1].contains(finished.status), "\(finished)")
                #expect(left.count == (finished.status == 0 ? 0 : 60), "\(finished)")
                if finished.status == 0 { complete += 1 }
            }
            #expect(complete > 0)
        }
    }

    /// If it tried again for ever, all writers would wait for it.
    @Test func anEvictionEndsIfNoThreadGetsADescriptor() async throws {
        try await withFixture { larder in
            let shortage = try Shortage(larder)
            let openings = try #require(try shortage.evict(0).log).count
            let directories = Set(shortage.files(larder.cache).map { $0.prefix(2) }).count
            // The last openings are those of the removal.
            let (finished, left, _) = try shortage.evict(
                openings - directories + 5, isLasting: true)
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains("ulimit -n"), "\(finished)")
            #expect((1..<60).contains(left.count), "\(left.count) files")
        }
    }
}
