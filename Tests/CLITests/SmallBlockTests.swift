import Foundation
import LarderTestSupport
import Testing

/// Disks with blocks smaller than a memory page. If the disk is nearly full, a page that SQLite maps
/// may have space for only some of its blocks.
@Suite struct SmallBlockTests {
    @Test(.enabled(if: LoopDisk.isPossible(.ext4), "loop devices need root on Linux"))
    func aNearlyFullDiskOfSmallBlocksCrashesNoCommand() async throws {
        try await withFixture { larder in
            let disk = try LoopDisk(.ext4, at: larder.directory.path("disk"), blockSize: 1024)
            defer { withExtendedLifetime(disk) {} }
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(20))
            try #require(try larder.prefetch(manifest).status == 0)
            let more = try larder.manifest(urls: larder.origin.serveIcons(40), name: "more.json")
            let network = ["--allow-private-network"]
            let cache = disk.path + "/cache"
            for free in stride(from: 0, through: 64, by: 4) {
                unlink(disk.path + "/filler")
                try? FileManager.default.removeTree(atPath: cache)
                try FileManager.default.copyItem(atPath: larder.cache, toPath: cache)
                try fill(disk.path, leaving: free << 10)
                for command in [
                    ["status"], ["list"], ["plan", manifest], ["verify"],
                    ["prefetch", more] + network,
                    ["status"], ["evict", "--max-count", "10"],
                ] {
                    let finished = try larder.binary.run(command + ["--cache", cache])
                    let allowed: [Int32] =
                        switch command[0] {
                        case "prefetch": [0, 2, 74]
                        case "evict": [0, 74]
                        default: [0]
                        }
                    #expect(
                        allowed.contains(finished.status), "\(free) KiB, \(command): \(finished)")
                }
            }
        }
    }

    /// Fills a file system except for `free` bytes.
    private func fill(_ path: String, leaving free: Int) throws {
        let filler = open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        try #require(filler >= 0, "\(errno)")
        defer { close(filler) }
        fsync(filler)
        var end = 0
        for size in [64 << 20, 1 << 20, 64 << 10, 1 << 10] {
            while posix_fallocate(filler, off_t(end), off_t(size)) == 0 { end += size }
        }
        ftruncate(filler, off_t(end - free))
        fsync(filler)
    }
}
