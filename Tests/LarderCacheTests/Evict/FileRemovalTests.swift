import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// One step of a removal.
@Suite struct FileRemovalTests {
    private func withFiles(
        _ count: Int, _ body: (_ directory: String, _ files: [FileRemoval.File]) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let fanOut = try FileDescriptor.open(directory.path, flags: O_RDONLY | O_DIRECTORY)
            let files = try (0..<count).map { number in
                let digest = try Digest.reference(of: [UInt8(number)])
                try Tree.put([1, 2, 3], at: directory.path(digest.hex))
                return (fanOut, digest)
            }
            try body(directory.path, files)
        }
    }

    @Test func whatItsTimeDoesNotSufficeForIsLeft() throws {
        try withFiles(20) { directory, files in
            let removal = FileRemoval(files, until: .now) { _ in true }
            for share in 0..<3 { removal.run(share: share, of: 3) }
            let outcome = try removal.outcome()
            // One of each share, or nothing would ever go.
            #expect(outcome.removed.count == 3)
            #expect(Set(outcome.left.map(\.hex)) == Set(Tree.names(directory)))
            let left = files.filter { outcome.left.contains($0.digest) }
            let rest = FileRemoval(left, until: .now + .seconds(600)) { _ in true }
            for share in 0..<3 { rest.run(share: share, of: 3) }
            #expect(try rest.outcome().removed.count == 17)
            #expect(Tree.names(directory).isEmpty)
        }
    }

    @Test func whatIsNotToBeRemovedStays() throws {
        try withFiles(3) { directory, files in
            let folder = directory + "/" + files[0].digest.hex
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            let refusing = FileRemoval(files, until: .now + .seconds(600)) { _ in false }
            refusing.run(share: 0, of: 1)
            #expect(try refusing.outcome().removed.count == 0)
            let removal = FileRemoval(files, until: .now + .seconds(600)) { _ in true }
            removal.run(share: 0, of: 1)
            #expect(try removal.outcome().removed.count == 2)
            #expect(Tree.names(directory) == [files[0].digest.hex])
        }
    }
}
