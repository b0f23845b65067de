import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// One step of a removal.
@Suite struct FileRemovalTests {
    /// - Parameter body: Is given the directory of the fan-out directories, and the files.
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

    @Test func whatItsTimeDoesNotSufficeForIsLeft() throws {
        try withFiles(20) { objects, directory, files in
            let outcome = try FileRemoval(objects: objects, end: .now) { _ in true }
                .remove(files, shares: 3)
            // One of each share, or nothing would ever go.
            #expect(outcome.removed.count == 3)
            #expect(Set(outcome.left.map(\.hex)) == Set(names(directory)))
            let rest = try FileRemoval(objects: objects, end: .now + .seconds(600)) { _ in true }
                .remove(outcome.left, shares: 3)
            #expect(rest.removed.count == 17)
            #expect(names(directory).isEmpty)
        }
    }

    /// Shares that threads take at once are each taken once.
    @Test func threadsShareTheFiles() throws {
        try withFiles(200) { objects, directory, files in
            let outcome = try FileRemoval(
                objects: objects, end: .now + .seconds(600)
            ) { _ in true }.remove(files, shares: 40)
            #expect(outcome.removed.count == 200)
            #expect(names(directory).isEmpty)
        }
    }

    @Test func whatIsNotToBeRemovedStays() throws {
        try withFiles(3) { objects, directory, files in
            let folder = "\(directory)/\(CacheLayout.fanOut(files[0]))/\(files[0].hex)"
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            func remove(_ isRemovable: Bool) throws -> Int {
                try FileRemoval(objects: objects, end: .now + .seconds(600)) { _ in isRemovable }
                    .remove(files, shares: 1).removed.count
            }
            #expect(try remove(false) == 0)
            #expect(try remove(true) == 2)
            #expect(FileManager.default.fileExists(atPath: folder))
            #expect(names(directory).isEmpty)
        }
    }
}
