import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// One step of a removal of object files.
@Suite struct FileRemovalTests {
    /// Creates object files and calls `body` with their root directory and their digests.
    private func withFiles(
        _ count: Int, _ body: (FileDescriptor, _ path: String, [Digest]) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let objects = try FileDescriptor.open(directory.path, flags: O_RDONLY | O_DIRECTORY)
            let files = try (0..<count).map { number in
                let digest = try Digest.reference(of: [UInt8(number)])
                try Tree.put(
                    [1, 2, 3], at: directory.path("\(CacheLayout.fanOut(digest))/\(digest.hex)"))
                return digest
            }
            try body(objects, directory.path, files.sorted())
        }
    }

    private func names(_ directory: String) -> [String] {
        Tree.files(directory).map { String($0.suffix(64)) }
    }

    @Test func filesNotRemovedBeforeTheDeadlineAreReturned() throws {
        try withFiles(20) { objects, directory, files in
            let outcome = FileRemoval(objects: objects, end: .now) { _ in true }
                .remove(files, shares: 3)
            // One file of each share is always removed, so that every step makes progress.
            #expect(outcome.removed.count == 3)
            #expect(Set(outcome.left.map(\.hex)) == Set(names(directory)))
            let rest = FileRemoval(objects: objects, end: .now + .seconds(600)) { _ in true }
                .remove(outcome.left, shares: 3)
            #expect(rest.removed.count == 17)
            #expect(names(directory).isEmpty)
        }
    }

    @Test func concurrentThreadsRemoveEachFileOnce() throws {
        try withFiles(200) { objects, directory, files in
            let outcome = FileRemoval(
                objects: objects, end: .now + .seconds(600)
            ) { _ in true }.remove(files, shares: 40)
            #expect(outcome.removed.count == 200)
            #expect(names(directory).isEmpty)
        }
    }

    @Test func directoriesAndRejectedFilesAreNotRemoved() throws {
        try withFiles(3) { objects, directory, files in
            let folder = "\(directory)/\(CacheLayout.fanOut(files[0]))/\(files[0].hex)"
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            func remove(_ isRemovable: Bool) -> Int {
                FileRemoval(objects: objects, end: .now + .seconds(600)) { _ in isRemovable }
                    .remove(files, shares: 1).removed.count
            }
            #expect(remove(false) == 0)
            #expect(remove(true) == 2)
            #expect(FileManager.default.fileExists(atPath: folder))
            #expect(names(directory).isEmpty)
        }
    }
}
