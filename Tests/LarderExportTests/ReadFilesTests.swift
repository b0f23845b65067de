import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderExport

@Suite struct ReadFilesTests {
    private func withDirectory(_ body: (FileDescriptor, String) throws -> Void) throws {
        try withTemporaryDirectory {
            let path = $0.path("files")
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
            try body(try Cache.usersDirectory(path), path)
        }
    }

    /// Returns a file's digest, and whether the file was read. The file position shows this.
    private func digest(
        _ name: String, in directory: FileDescriptor, _ files: ReadFiles
    ) throws -> (digest: Digest?, isRead: Bool) {
        let file = try directory.file(name)
        let digest = try files.digest(of: file) { false }
        return (digest, lseek(file.raw, 0, SEEK_CUR) > 0)
    }

    @Test(arguments: [3, 5000]) func eachFileIsReadOnce(_ count: Int) throws {
        try withDirectory { directory, path in
            let files = try ReadFiles()
            for number in 0..<count {
                try Data("\(number)".utf8).write(to: URL(fileURLWithPath: "\(path)/\(number)"))
                let (found, isRead) = try digest("\(number)", in: directory, files)
                #expect(try found == Digest.of(Array("\(number)".utf8)) && isRead)
            }
            for number in stride(from: 0, to: count, by: max(1, count / 50)) {
                #expect(try !digest("\(number)", in: directory, files).isRead)
            }
        }
    }

    @Test func hardLinksAreReadOnceAndReplacedFilesAgain() throws {
        try withDirectory { directory, path in
            let files = try ReadFiles()
            try Data([1, 2]).write(to: URL(fileURLWithPath: "\(path)/a"))
            #expect(link("\(path)/a", "\(path)/b") == 0)
            let first = try digest("a", in: directory, files)
            let second = try digest("b", in: directory, files)
            #expect(first.isRead && !second.isRead && first.digest == second.digest)
            try Data([3, 4]).write(to: URL(fileURLWithPath: "\(path)/c"))
            #expect(rename("\(path)/c", "\(path)/a") == 0)
            let third = try digest("a", in: directory, files)
            #expect(try third.isRead && third.digest == Digest.of([3, 4]))
        }
    }

    @Test func theDigestOfACancelledReadIsNotRemembered() throws {
        try withDirectory { directory, path in
            let files = try ReadFiles()
            try Data(count: 2 << 20).write(to: URL(fileURLWithPath: "\(path)/a"))
            #expect(try files.digest(of: directory.file("a")) { true } == nil)
            #expect(try digest("a", in: directory, files).isRead)
        }
    }
}
