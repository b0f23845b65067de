import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

@Suite struct ObjectTreeTests {
    private static let digest = "ab" + String(repeating: "0", count: 62)

    @Test func theWalkTellsObjectsFromMisplacedAndForeignFiles() throws {
        try withTemporaryDirectory { directory in
            let cache = try CacheDirectory(path: directory.path, create: true)
            let digest = Self.digest
            for path in [
                "ab/\(digest)", "cd/\(digest)", "ab/\(digest.uppercased())", "ab/\(digest).tmp",
                "ab/\(digest.dropLast())", "\(digest)", "AB/x", "abc/x", "ef/nested/x",
            ] { try Tree.put([1], at: directory.path("objects/sha256/\(path)")) }
            var objects: [String] = []
            var misplaced: [String] = []
            var foreign: [String] = []
            try ObjectTree(cache).walk { entry in
                if let digest = entry.digest {
                    #expect(digest.hex == Self.digest)
                    objects.append(entry.path)
                } else if entry.misplaced != nil {
                    misplaced.append(entry.path)
                } else {
                    foreign.append(entry.path)
                }
            }
            #expect(objects == ["objects/sha256/ab/\(digest)"])
            #expect(
                misplaced.sorted() == ["objects/sha256/\(digest)", "objects/sha256/cd/\(digest)"])
            #expect(
                foreign.sorted()
                    == [
                        "AB", "ab/\(digest.uppercased())", "ab/\(digest.dropLast())",
                        "ab/\(digest).tmp", "abc", "ef/nested",
                    ].map { "objects/sha256/\($0)" }.sorted())
        }
    }

    @Test func anAbsentObjectTreeIsEmpty() throws {
        try withTemporaryDirectory { directory in
            let cache = try CacheDirectory(path: directory.path, create: false)
            try ObjectTree(cache).walk { entry in Issue.record("\(entry.path)") }
            #expect(try ObjectTree(cache).root() == nil)
        }
    }
}
