import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

@Suite struct QuarantineTests {
    @Test(arguments: [
        ("05-1z", true), (String(repeating: "a", count: 64) + "-0", true), ("05", false),
        ("5-1", false), ("05-1-1", false), ("05-_", false), ("notes-1", false),
    ]) func quarantineNamesAreRecognised(_ name: String, _ isOwn: Bool) {
        #expect(CacheDirectory.isQuarantined(name) == isOwn)
    }

    /// Another thread replaces the file all the time. Only the file with the given inode may be
    /// taken.
    @Test func aFileThatReplacedADamagedOneIsNotQuarantined() throws {
        try withTemporaryDirectory { directory in
            _ = try Cache.create(at: directory.path)
            let cache = try CacheDirectory(path: directory.path, create: false)
            let parent = try cache.objects()
            let place = directory.path("objects/sha256/05")
            try Tree.put([0], at: place)
            let isOver = Atomic(false)
            let replacing = DispatchGroup()
            DispatchQueue.global().async(group: replacing) {
                while !isOver.load(ordering: .relaxed) {
                    let file = open(place + ".new", O_WRONLY | O_CREAT, 0o644)
                    close(file)
                    rename(place + ".new", place)
                }
            }
            defer {
                isOver.store(true, ordering: .relaxed)
                replacing.wait()
            }
            for _ in 0..<20_000 {
                guard let inode = try parent.status(of: "05")?.st_ino,
                    let taken = try cache.quarantine("05", from: parent, inode: inode)
                else { continue }
                var status = stat()
                try #require(lstat(directory.path(taken), &status) == 0 && status.st_ino == inode)
                unlink(directory.path(taken))
            }
            #expect(Tree.names(directory.path("quarantine")).isEmpty)
        }
    }
}
