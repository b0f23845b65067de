import Foundation
import LarderCache
import LarderExport
import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

/// The requests of a pull: one object for each icon, and none for objects in the cache.
@Suite(.timeLimit(.minutes(30))) struct PullTests {
    private let storage = CountedStorage()
    private let origin: Origin

    init() throws { origin = try Origin() }

    private func serve(_ path: String, seed: Int, _ control: String = "max-age=3600") -> String {
        origin.on(path) { request in
            let tag = "\"\(path)\""
            let reply =
                request.header("If-None-Match") == tag
                ? Reply.status(304) : .ok(IconPainter.png(seed: seed))
            return reply.header("ETag", tag).header("Cache-Control", control)
        }
        return origin.url(path)
    }

    private func fill(_ urls: [String], from cache: String) async throws {
        let report = try await prefetch(urls, into: cache, storage, .mirror)
        #expect(report.remote?.pushed == urls.count)
    }

    private struct Pull {
        let report: Report
        /// The number of references that were read.
        let references: Int
        /// The number of objects that were read.
        let objects: Int
    }

    private func pull(
        entries: [[String: String]], into cache: String, _ use: Remote.Use = .only
    ) async throws -> Pull {
        let read = Mutex<[String]>([])
        storage.before { method, key in
            if method == "GET" { read.withLock { $0.append(key) } }
        }
        let report = try await prefetch(entries: entries, into: cache, storage, use)
        storage.before(nil)
        let keys = read.withLock { $0 }
        return Pull(
            report: report, references: keys.count { $0.hasPrefix("refs/") },
            objects: keys.count { $0.hasPrefix("objects/") })
    }

    private func pull(
        _ urls: [String], into cache: String, _ use: Remote.Use = .only
    ) async throws -> Pull {
        try await pull(entries: urls.map { ["icon": $0] }, into: cache, use)
    }

    private func tag(of url: String, in cache: String) throws -> String? {
        try Cache.open(at: cache).resource(url)?.validators.etag
    }

    @Test func pullingAnIconTakesOneRequest() async throws {
        try await withTemporaryDirectory { directory in
            let urls = (0..<20).map { serve("/\($0)", seed: $0) }
            try await fill(urls, from: directory.path("1"))
            let pulled = try await pull(urls, into: directory.path("2"))
            #expect(pulled.report.count(.pulled) == 20)
            #expect(pulled.references == 0 && pulled.objects == 20)
            for (number, url) in urls.enumerated() {
                #expect(try tag(of: url, in: directory.path("2")) == "\"/\(number)\"")
            }
        }
    }

    @Test func aRunWithARemoteRetainsNothing() async throws {
        weak var released: CountedStorage?
        try await withTemporaryDirectory { directory in
            let storage = CountedStorage()
            released = storage
            let url = serve("/released", seed: 1)
            _ = try await prefetch([url], into: directory.path("cache"), storage, .mirror)
        }
        // The thread of the run may end after its last event.
        let end = ContinuousClock.now + .seconds(60)
        while released != nil, .now < end { await Task.yield() }
        #expect(released == nil)
    }

    /// Older versions of larder wrote no metadata, and a tool that copies objects may drop it.
    @Test func aRemoteWithoutMetadataIsRead() async throws {
        try await withTemporaryDirectory { directory in
            let urls = (0..<5).map { serve("/\($0)", seed: $0) }
            try await fill(urls, from: directory.path("1"))
            storage.forgetMetadata()
            let pulled = try await pull(urls, into: directory.path("2"))
            #expect(pulled.report.count(.pulled) == 5)
            #expect(pulled.references == 5 && pulled.objects == 5)
            #expect(try tag(of: urls[3], in: directory.path("2")) == "\"/3\"")
        }
    }

    @Test(arguments: [true, false])
    func aReferenceNewerThanItsObjectIsRead(_ isFresh: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let control = isFresh ? "max-age=3600" : "max-age=0"
            let urls = (0..<5).map { serve("/\($0)", seed: $0, control) }
            try await fill(urls, from: directory.path("1"))
            let first = try await pull(urls, into: directory.path("2"))
            #expect(first.references == 0 && first.objects == 5)
            // Makes the references look as if they were written after the objects were fetched.
            storage.age(by: -1000)
            let second = try await pull(urls, into: directory.path("3"))
            #expect(second.report.count(.pulled) == 5)
            #expect(second.references == 5 && second.objects == 5)
        }
    }

    @Test(arguments: ["", "no Base64!", "e30=", "another URL's"])
    func metadataOfAnotherURLIsNotUsed(_ metadata: String) async throws {
        try await withTemporaryDirectory { directory in
            try await fill([serve("/b", seed: 2)], from: directory.path("1"))
            let other = try #require(storage.metadata.first)
            let url = serve("/a", seed: 1)
            try await fill([url], from: directory.path("1"))
            let icon = IconPainter.png(seed: 1)
            try await storage.put(
                RemoteName.object(icon), RequestBody(icon), digest: "", mediaType: nil,
                metadata: metadata == "another URL's" ? other : metadata)
            let pulled = try await pull([url], into: directory.path("2"))
            #expect(pulled.report.count(.pulled) == 1)
            #expect(pulled.references == 1 && pulled.objects == 1)
            #expect(try tag(of: url, in: directory.path("2")) == "\"/a\"")
        }
    }

    @Test func anObjectWithAnUnexpectedDigestIsNotDownloaded() async throws {
        try await withTemporaryDirectory { directory in
            let url = serve("/a", seed: 1)
            try await fill([url], from: directory.path("1"))
            let wrong = try await pull(
                entries: [["icon": url, "sha256": ReferenceSHA256.hex([1])]],
                into: directory.path("2"))
            #expect(wrong.report.count(.failed) == 1 && wrong.objects == 0)
            let digest = ReferenceSHA256.hex(IconPainter.png(seed: 1))
            let right = try await pull(
                entries: [["icon": url, "sha256": digest]], into: directory.path("2"))
            #expect(right.report.count(.pulled) == 1)
            #expect(right.references == 0 && right.objects == 1)
        }
    }

    // MARK: Objects that the cache has

    @Test(arguments: [Remote.Use.only, .read])
    func anObjectOfSeveralURLsIsDownloadedOnce(_ use: Remote.Use) async throws {
        try await withTemporaryDirectory { directory in
            let urls = (0..<40).map { serve("/\($0)", seed: $0 % 2) }
            try await fill(urls, from: directory.path("1"))
            origin.resetLog()
            let pulled = try await pull(urls, into: directory.path("2"), use)
            #expect(pulled.report.count(.pulled) == 40 && origin.count() == 0)
            #expect(pulled.objects == 2)
            let bytes = (0..<2).map { IconPainter.png(seed: $0).count }.reduce(0, +)
            #expect(pulled.report.remote?.pulledBytes == Int64(bytes))
            for (number, url) in urls.enumerated() {
                #expect(try tag(of: url, in: directory.path("2")) == "\"/\(number)\"")
            }
        }
    }

    @Test func anObjectCachedForAnotherURLIsNotDownloaded() async throws {
        try await withTemporaryDirectory { directory in
            let url = serve("/a", seed: 1)
            try await fill([url], from: directory.path("1"))
            let cache = directory.path("2")
            _ = try await prefetch([serve("/b", seed: 1)], into: cache, CountedStorage(), .read)
            let pulled = try await pull([url], into: cache)
            #expect(pulled.report.count(.pulled) == 1 && pulled.report.remote?.pulledBytes == 0)
            #expect(pulled.references == 1 && pulled.objects == 0)
            #expect(try tag(of: url, in: cache) == "\"/a\"")
        }
    }

    @Test func anImportedObjectIsNotDownloaded() async throws {
        try await withTemporaryDirectory { directory in
            let url = serve("/a", seed: 1)
            try await fill([url], from: directory.path("1"))
            let icon = IconPainter.png(seed: 1)
            let cache = directory.path("2")
            try importIcon(icon, of: "https://a.example/mail.png", directory.path("files"), cache)
            let pulled = try await pull([url], into: cache)
            #expect(pulled.report.count(.pulled) == 1 && pulled.report.remote?.pulledBytes == 0)
            #expect(pulled.references == 1 && pulled.objects == 0)
            #expect(try tag(of: url, in: cache) == "\"/a\"")
        }
    }

    private func importIcon(
        _ icon: [UInt8], of url: String, _ folder: String, _ path: String
    ) throws {
        let files = URL(fileURLWithPath: folder)
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        try Data(icon).write(to: files.appendingPathComponent("mail.png"))
        let line = """
            {"name":"","url":"\(url)","file":"mail.png","bytes":\(icon.count),\
            "digest":"sha256:\(ReferenceSHA256.hex(icon))"}
            """
        try Data("[\n\(line)\n]\n".utf8).write(to: files.appendingPathComponent("index.json"))
        let cache = try Cache.create(at: path)
        defer { cache.close() }
        let manifest = Array(#"[{"icon":"\#(url)"}]"#.utf8)
        let report = try Importer(cache, ImportConfiguration(layout: .files, directory: folder))
            .run([.bytes(manifest, name: "manifest")])
        #expect(report.imported == 1, "\(report)")
    }

    @Test(arguments: ["other bytes", "fewer bytes", "no file"])
    func anObjectDamagedInTheCacheIsDownloadedAgain(_ damage: String) async throws {
        try await withTemporaryDirectory { directory in
            let url = serve("/a", seed: 1)
            try await fill([url], from: directory.path("1"))
            let path = directory.path("2")
            _ = try await prefetch([serve("/b", seed: 1)], into: path, CountedStorage(), .read)
            let icon = IconPainter.png(seed: 1)
            let file = URL(fileURLWithPath: "\(path)/\(RemoteName.object(icon))")
            try FileManager.default.removeItem(at: file)
            var bytes = icon
            if damage == "other bytes" { bytes[bytes.count / 2] ^= 1 } else { bytes.removeLast() }
            if damage != "no file" { try Data(bytes).write(to: file) }
            let pulled = try await pull([url], into: path)
            #expect(pulled.report.count(.pulled) == 1 && pulled.objects == 1)
            #expect(pulled.report.remote?.pulledBytes == Int64(icon.count))
            #expect(try Data(contentsOf: file) == Data(icon))
            #expect(try Cache.open(at: path).verify().isClean)
        }
    }

    @Test(arguments: [Remote.Use.mirror, .read, .fill])
    func aStaleCachedIconNeedsOnlyItsReference(_ use: Remote.Use) async throws {
        try await withTemporaryDirectory { directory in
            let urls = (0..<5).map { serve("/\($0)", seed: $0, "max-age=0") }
            try await fill(urls, from: directory.path("1"))
            let pulled = try await pull(urls, into: directory.path("1"), use)
            #expect(pulled.report.count(.revalidated) == 5)
            #expect(pulled.references == 5 && pulled.objects == 0)
        }
    }
}
