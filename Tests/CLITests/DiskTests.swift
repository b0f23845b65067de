import Foundation
import GRDB
import LarderCache
import LarderTestSupport
import Testing

/// Full and read-only disks, and caches without permissions.
@Suite struct DiskTests {
    private static let mountRequirement: Comment = "mounting requires root on Linux"

    @Test(.enabled(if: Mount.isPossible, mountRequirement))
    func aFullDiskStopsAPrefetchAndLosesNothing() async throws {
        try await withFixture { larder in
            let disk = try Mount.memory(at: larder.cache, size: "1500k")
            defer { disk.remove() }
            let small = try larder.manifest(urls: larder.origin.serveIcons(5), name: "small.json")
            #expect(try larder.prefetch(small).status == 0)

            // 49 kB each, 2.5 MB in total.
            let bitmap = IconPainter.largeBMP(seed: 1, bytes: 49_000)
            larder.origin.onAny { .ok(bitmap + Array($0.path.utf8), type: "image/bmp") }
            let urls = (100..<150).map { larder.origin.url("/\($0)") }
            let large = try larder.manifest(urls: urls, name: "large.json")
            let full = try larder.prefetch(large)
            #expect(full.status == 74, "\(full.finished)")
            #expect(full.summary.error?.code == "storage")
            #expect(full.summary.error?.message.contains("No space left on device") == true)
            // 1GB would be refused on this disk.
            let advice = "to free space: larder evict --min-free 153kB --cache \(larder.cache)"
            #expect(full.summary.error?.message.hasSuffix(advice) == true, "\(full.finished)")
            #expect(try larder.run("evict", "--min-free", "153kB", "--dry-run").status != 64)
            #expect(full.summary.interrupted == false)
            #expect(full.summary.unfinished > 0)
            #expect(full.summary.failed == 0)
            let stored = full.lines.filter { $0.outcome == "fetched" }.compactMap(\.url)

            try disk.remount("size=20m")
            #expect(try larder.verify() == 0)
            larder.origin.resetLog()
            let next = try larder.prefetch(small, large)
            #expect(next.status == 0, "\(next.finished)")
            #expect(next.summary.cached == 5 + stored.count)
            #expect(next.summary.fetched == 50 - stored.count)
            let asked = Set(larder.origin.requests.map { larder.origin.url($0.path) })
            #expect(asked.isDisjoint(with: stored))
            #expect(try larder.verify() == 0)
            #expect(try larder.temporaries().isEmpty)
        }
    }

    /// The cache is smaller than the space that the eviction would have to free.
    @Test(.enabled(if: Mount.isPossible, mountRequirement))
    func aDiskThatIsFullOfOtherFilesDoesNotSuggestAnEviction() async throws {
        try await withFixture { larder in
            let disk = try Mount.memory(at: larder.cache, size: "1500k")
            defer { disk.remove() }
            let small = try larder.manifest(urls: larder.origin.serveIcons(1), name: "small.json")
            #expect(try larder.prefetch(small).status == 0)
            var status = statvfs()
            #expect(statvfs(larder.cache, &status) == 0)
            let free = Int(status.f_bavail) * Int(status.f_frsize)
            _ = try larder.write(
                [UInt8](repeating: 1, count: max(0, free - 50_000)), to: "cache/filler")

            let bitmap = IconPainter.largeBMP(seed: 1, bytes: 49_000)
            larder.origin.onAny { .ok(bitmap + Array($0.path.utf8), type: "image/bmp") }
            let urls = (100..<150).map { larder.origin.url("/\($0)") }
            let large = try larder.manifest(urls: urls, name: "large.json")
            let full = try larder.run("prefetch", large, "--allow-private-network")
            #expect(full.status == 74, "\(full)")
            let text = full.standardOutput + full.standardError
            let advice = "; remove other files from its disk, or choose another disk with --cache"
            #expect(text.contains(advice) && !text.contains("larder evict"), "\(full)")

            let evict = try larder.run("evict", "--min-free", "1200kB", "--quiet")
            #expect(evict.status == 2, "\(evict)")
            #expect(
                evict.standardError == "larder: limit not met: too little free space;"
                    + " to free more, remove other files from the disk\n", "\(evict)")
        }
    }

    /// The eviction has no space for the log of the index.
    @Test(.enabled(if: Mount.isPossible, mountRequirement))
    func evictionWorksOnAFullDisk() async throws {
        try await withFixture { larder in
            let disk = try Mount.memory(at: larder.cache, size: "6m")
            defer { disk.remove() }
            let urls = larder.origin.serveIcons(400)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let filler = open(larder.cache + "/filler", O_WRONLY | O_CREAT, 0o644)
            let block = [UInt8](repeating: 1, count: 4096)
            while write(filler, block, block.count) > 0 {}
            close(filler)

            let evict = try larder.run("evict", "--max-count", "10")
            #expect(evict.status == 0, "\(evict)")
            unlink(larder.cache + "/filler")
            #expect(try larder.verify() == 0)
            #expect(try larder.status().objects == 10)
            #expect(FileManager.default.fileExists(atPath: larder.cache + "/index.snapshot.sqlite"))
        }
    }

    /// The log of the index cannot grow by a byte, and the snapshot of the index, which an eviction
    /// could remove to free space, is gone.
    @Test(
        .enabled(if: LoopDisk.isPossible(.ext4), "loop devices require root on Linux"),
        arguments: [false, true])
    func evictionWorksOnADiskWithoutAFreeByte(hasLog: Bool) async throws {
        try await withFixture { larder in
            let disk = try LoopDisk(.ext4, at: larder.directory.path("disk"))
            defer { withExtendedLifetime(disk) {} }
            let cache = disk.path + "/cache"
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(200))
            func run(_ arguments: String...) throws -> Finished {
                try larder.binary.run(arguments + ["--cache", cache])
            }
            #expect(try run("prefetch", manifest, "--allow-private-network").status == 0)
            unlink(cache + "/index.snapshot.sqlite")
            if hasLog {
                // The index and the log that a killed process leaves.
                let queue = try DatabaseQueue(path: cache + "/index.sqlite")
                try await queue.write { db in
                    try db.execute(sql: "UPDATE objects SET used_at = used_at - 1")
                }
                for suffix in ["", "-wal"] {
                    try FileManager.default.copyItem(
                        atPath: cache + "/index.sqlite" + suffix,
                        toPath: larder.directory.path("copy" + suffix))
                }
                try queue.close()
                for suffix in ["", "-wal"] {
                    unlink(cache + "/index.sqlite" + suffix)
                    try FileManager.default.copyItem(
                        atPath: larder.directory.path("copy" + suffix),
                        toPath: cache + "/index.sqlite" + suffix)
                }
            }
            let filler = open(disk.path + "/filler", O_WRONLY | O_CREAT, 0o644)
            for size in [1 << 20, 4096, 1] {
                let block = [UInt8](repeating: 1, count: size)
                while write(filler, block, size) > 0 {}
                fsync(filler)
            }
            close(filler)

            for command in ["status", "list", "verify"] {
                let finished = try run(command)
                #expect(finished.status == 0, "\(finished)")
            }
            let evict = try run("evict", "--max-count", "10")
            #expect(evict.status == 0, "\(evict)")
            unlink(disk.path + "/filler")
            #expect(try run("verify").status == 0)
            let status = try run("status", "--json")
            #expect(status.standardOutput.contains("\"objects\":10,"), "\(status)")
        }
    }

    @Test func allIconsAreStoredIfTheReportCannotBeWritten() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(20)
            let run = try larder.run(
                "prefetch", try larder.manifest(urls: urls), "--allow-private-network",
                "--report", "/dev/full")
            #expect(run.status == 74)
            #expect(run.standardError.contains("/dev/full"))
            #expect(run.standardOutput.contains("fetched 20"))
            #expect(try larder.status().objects == 20)
        }
    }

    @Test(.enabled(if: Mount.isPossible, mountRequirement))
    func aPrefetchWithoutSpaceForAnEmptyCacheExitsWith74() async throws {
        try await withFixture { larder in
            let disk = try Mount.memory(at: larder.cache, size: "4k")
            defer { disk.remove() }
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(5))
            let finished = try larder.run("prefetch", manifest, "--allow-private-network")
            #expect(finished.status == 74, "\(finished)")
            #expect(finished.standardError.contains(larder.cache), "\(finished)")
            try disk.remount("size=20m")
            #expect(try larder.prefetch(manifest).summary.fetched == 5)
            #expect(try larder.verify() == 0)
        }
    }

    @Test(.enabled(if: Mount.isPossible, mountRequirement))
    func aPrefetchWithItsReportOnAFullDiskExitsWith74() async throws {
        try await withFixture { larder in
            let disk = try Mount.memory(at: larder.directory.path("reports"), size: "4k")
            defer { disk.remove() }
            let urls = larder.origin.serveIcons(100)
            let manifest = try larder.manifest(urls: urls)
            let report = larder.directory.path("reports/report.jsonl")
            let finished = try larder.run(
                "prefetch", manifest, "--report", report, "--allow-private-network")
            #expect(finished.status == 74, "\(finished)")
            #expect(finished.standardError.contains(report), "\(finished)")
            #expect(try larder.verify() == 0)
        }
    }

    @Test(.enabled(if: Mount.isPossible, mountRequirement))
    func aCacheOnAReadOnlyMediumIsReadAndNotWritten() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            let medium = try Mount.readOnly(larder.cache, at: larder.directory.path("medium"))
            defer { medium.remove() }
            func run(_ arguments: String...) throws -> Finished {
                try larder.binary.run(arguments + ["--cache", medium.path])
            }
            let prefetch = try run("prefetch", manifest, "--allow-private-network")
            #expect(prefetch.status == 74, "\(prefetch)")
            #expect(prefetch.standardError.contains("Read-only file system"), "\(prefetch)")
            #expect(prefetch.standardError.contains(medium.path), "\(prefetch)")
            #expect(larder.origin.count() == 3)

            #expect(Array(try run("cat", urls[1]).standardOutputBytes) == Icons.icon(1))
            #expect(try run("list").standardOutput.split(separator: "\n").count == 3)
            #expect(try run("status").standardOutput.contains("resources  3, 3 fresh"))
            #expect(try run("verify").status == 0)
            let plan = try run("plan", manifest).standardOutput
            #expect(plan.hasSuffix("; 3 URLs: cached 3\n"), "\(plan)")
        }
    }

    @Test(.enabled(if: Nobody.isPossible, "requires setpriv, or a user other than root"))
    func missingPermissionsOfACacheAreReported() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            // Reading the cache requires search permission for its parent directory.
            chmod(larder.directory.path, 0o755)
            chmod(larder.cache, 0o555)
            let prefetch = try Nobody.run(
                larder.binary, ["prefetch", manifest, "--cache", larder.cache])
            #expect(prefetch.status == 1, "\(prefetch)")
            #expect(
                prefetch.standardError
                    == "larder: \(larder.cache): write: Permission denied;"
                    + " run as its owner, or give this user access\n")
            let cat = try Nobody.run(larder.binary, ["cat", urls[0], "--cache", larder.cache])
            #expect(Array(cat.standardOutputBytes) == Icons.icon(0), "\(cat)")
            let fresh = larder.directory.path("below")
            let create = try Nobody.run(larder.binary, ["prefetch", manifest, "--cache", fresh])
            #expect(create.status == 1, "\(create)")
            #expect(create.standardError.contains("\(fresh): "), "\(create)")
            #expect(create.standardError.contains("Permission denied"), "\(create)")
            chmod(larder.cache, 0o000)
            let list = try Nobody.run(larder.binary, ["list", "--cache", larder.cache])
            #expect(list.status == 1, "\(list)")
            #expect(list.standardError.contains("Permission denied"), "\(list)")
        }
    }

    /// The cache was copied while in use, or its process was killed. On the medium, SQLite cannot
    /// create the shared memory of the log.
    @Test(.enabled(if: Mount.isPossible, mountRequirement), arguments: [false, true])
    func aCacheWithAnIndexLogIsReadOnAReadOnlyMedium(hasSharedMemory: Bool) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(5)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            let copy = larder.directory.path("copy")
            do {
                // While the cache is open, no process writes the log back into the index.
                let cache = try Cache.open(at: larder.cache)
                defer { cache.close() }
                #expect(try larder.run("pin", urls[3]).status == 0)
                try FileManager.default.copyItem(atPath: larder.cache, toPath: copy)
            }
            let log = try FileManager.default.attributesOfItem(atPath: "\(copy)/index.sqlite-wal")
            #expect((log[.size] as? Int ?? 0) > 0)
            if !hasSharedMemory { unlink("\(copy)/index.sqlite-shm") }
            let medium = try Mount.readOnly(copy, at: larder.directory.path("medium"))
            defer { medium.remove() }
            let cache = ["--cache", medium.path]
            // Only the log contains the pin.
            #expect(try larder.binary.run(["pin"] + cache).standardOutput == "\(urls[3])\n")
            for command in [
                ["list"], ["cat", urls[0]], ["status", "--json"], ["verify"], ["plan", manifest],
                ["verify", "--manifest", manifest], ["evict", "--dry-run", "--max-count", "1"],
                ["snapshot", larder.directory.path("snapshot")],
                ["export", larder.directory.path("export"), "--layout", "files"],
            ] {
                let finished = try larder.binary.run(command + cache)
                #expect(finished.status == 0, "\(command): \(finished)")
                #expect(!finished.standardOutput.isEmpty, "\(command): \(finished)")
            }
            let snapshot = ["--cache", larder.directory.path("snapshot")]
            #expect(try larder.binary.run(["pin"] + snapshot).standardOutput == "\(urls[3])\n")
            let copyHasSharedMemory = FileManager.default.fileExists(
                atPath: "\(copy)/index.sqlite-shm")
            #expect(copyHasSharedMemory == hasSharedMemory)
        }
    }
}
