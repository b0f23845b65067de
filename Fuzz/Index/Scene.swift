import Crypto
import Foundation

@testable import LarderCache
@testable import LarderCore

/// A new cache with two objects.
struct Scene {
    /// The cache directory. Scripts/fuzz sets TMPDIR to a directory in memory.
    private static let folder = NSTemporaryDirectory() + "larder-fuzz-index-\(getpid())"

    static let objects = ["one", "another"].map { text in
        let bytes = Array(text.utf8)
        return (digest: Digest(bytes: Array(SHA256.hash(data: bytes)))!, bytes: bytes)
    }

    /// Returns a long key, so that sixty keys fill several leaf pages.
    static func key(_ number: Int) -> String {
        "http://a/\(number)/" + String(repeating: "x", count: 200)
    }

    static let index: [UInt8] = {
        do {
            let scene = try Scene(without: ())
            let cache = try Cache.create(at: scene.path)
            try cache.index!.write { db in
                for number in 0..<60 {
                    try db.execute(
                        sql: """
                            INSERT INTO resources (key, object, etag, cache_control, received_at, fresh_until)
                            VALUES (?, 1 + ? % 2, '"1"', 'max-age=60', 1.7e9, 1.8e9)
                            """, arguments: [key(number), number])
                    try db.execute(
                        sql: "INSERT INTO failures VALUES (?, NULL, 'http', 404, 1.7e9, 1)",
                        arguments: [key(100 + number)])
                }
                try db.execute(sql: "INSERT INTO pins VALUES (?, 1.7e9)", arguments: [key(0)])
            }
            cache.close()
            return Array(try Data(contentsOf: URL(fileURLWithPath: scene.path + "/index.sqlite")))
        } catch {
            fatalError("cannot create the index: \(error)")
        }
    }()

    let path = Self.folder

    init() throws {
        let index = Self.index
        try self.init(without: ())
        try put(index, "index.sqlite")
    }

    private init(without index: Void) throws {
        try? FileManager.default.removeItem(atPath: path)
        for (digest, bytes) in Self.objects {
            try put(bytes, CacheLayout.path(digest))
            chmod("\(path)/\(CacheLayout.path(digest))", 0o444)
        }
        try put(Array(CacheLayout.tagContents.utf8), CacheLayout.tag)
        try put([], CacheLayout.temporary + "/nothing")
        chmod(path, 0o755)
    }

    func put(_ bytes: [UInt8], _ name: String) throws {
        let file = URL(fileURLWithPath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    /// The size of the index and its log, in bytes.
    var indexBytes: Int {
        ["", "-wal"].reduce(0) { sum, suffix in
            var status = stat()
            let file = "\(path)/index.sqlite\(suffix)"
            return sum + (stat(file, &status) == 0 ? Int(status.st_size) : 0)
        }
    }
}
