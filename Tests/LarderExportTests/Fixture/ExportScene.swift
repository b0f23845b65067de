import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderExport

/// A cache with generated icons and a directory for exports.
struct ExportScene {
    let directory: TemporaryDirectory
    var cachePath: String { directory.path("cache") }
    /// The default directory for exports.
    var target: String { directory.path("out") }

    /// Returns a small image that is different for each seed.
    static func icon(_ seed: Int) -> [UInt8] { IconPainter.svg(seed: seed, size: 16) }

    static func run(_ body: (ExportScene) throws -> Void) throws {
        try withTemporaryDirectory { try body(ExportScene(directory: $0)) }
    }

    /// Stores bytes under a key, as a prefetch does.
    ///
    /// - Parameters:
    ///   - url: The URL, if the key is not a URL.
    ///   - side: The width and the height in pixels.
    @discardableResult
    func store(
        _ bytes: [UInt8], at key: String, url: String? = nil, mediaType: String? = "image/svg+xml",
        side: Int? = nil
    ) throws -> Digest {
        let cache = try Cache.create(at: cachePath)
        let store = try cache.store()
        let digest = try add(
            bytes, at: key, url: url, mediaType: mediaType, side: side, to: store)
        store.flush()
        store.close()
        cache.close()
        return digest
    }

    private func add(
        _ bytes: [UInt8], at key: String, url: String?, mediaType: String?, side: Int?,
        to store: Store
    ) throws -> Digest {
        let body = try store.newBody { append in try bytes.withUnsafeBytes(append) }
        let digest = try body.finish()
        let staged = try store.stage(
            body, digest: digest,
            attributes: ObjectAttributes(mediaType: mediaType, width: side, height: side))
        store.add(
            Deposit(
                key: key, url: url ?? key, receivedAt: Date(), content: .staged(staged)),
            for: nil
        ) {}
        return digest
    }

    /// Stores an icon for each URL. The seed of an icon is the index of its URL.
    func store(urls: [String]) throws {
        for (seed, url) in urls.enumerated() { try store(Self.icon(seed), at: url) }
    }

    /// Stores icons in one batch, which is faster than one at a time.
    func store(_ icons: [String: [UInt8]]) throws {
        let cache = try Cache.create(at: cachePath)
        let store = try cache.store()
        for (url, icon) in icons {
            _ = try add(
                icon, at: url, url: nil, mediaType: "image/svg+xml", side: nil, to: store)
        }
        store.flush()
        store.close()
        cache.close()
    }

    /// Records a manifest's spelling of a URL.
    func record(_ text: String, of key: String) throws {
        let cache = try Cache.create(at: cachePath)
        try cache.record([(text, key)])
        cache.close()
    }

    /// Exports the icons of a manifest, or the whole cache if `manifest` is nil.
    @discardableResult
    func export(
        _ layout: ExportLayout, manifest: String? = nil, to path: String? = nil,
        configure: (inout ExportConfiguration) -> Void = { _ in }
    ) throws -> ExportReport {
        var configuration = ExportConfiguration(layout: layout, directory: path ?? target)
        configure(&configuration)
        return try Exporter(try Cache.open(at: cachePath), configuration)
            .export(manifest.map { [.bytes(Array($0.utf8), name: "test")] })
    }

    /// Returns a JSON manifest of entries with names and URLs.
    static func manifest(_ entries: [(name: String, url: String)]) throws -> String {
        let json = try JSONSerialization.data(
            withJSONObject: entries.map { ["name": $0.name, "icon": $0.url] })
        return String(decoding: json, as: UTF8.self)
    }

    // MARK: - Exported files

    /// Returns the content of all files in a directory tree, by relative path.
    func files(in path: String? = nil) -> [String: [UInt8]] {
        let root = path ?? target
        var files: [String: [UInt8]] = [:]
        for case let name as String in FileManager.default.enumerator(atPath: root) ?? .init() {
            var status = stat()
            guard lstat("\(root)/\(name)", &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
                continue
            }
            files[name] = (try? Data(contentsOf: URL(fileURLWithPath: "\(root)/\(name)")))
                .map(Array.init)
        }
        return files
    }

    /// Returns the inode, size, modification time and link count of each file. They change if a
    /// file is written again.
    func fileStates(in path: String? = nil) -> [String: [Int]] {
        let root = path ?? target
        var states: [String: [Int]] = [:]
        for name in files(in: root).keys {
            var status = stat()
            guard lstat("\(root)/\(name)", &status) == 0 else { continue }
            states[name] = [
                Int(status.st_ino), Int(status.st_size), Int(status.st_mtim.tv_sec),
                Int(status.st_mtim.tv_nsec), Int(status.st_nlink),
            ]
        }
        return states
    }

    func status(_ name: String, in path: String? = nil) throws -> stat {
        var status = stat()
        try #require(lstat("\(path ?? target)/\(name)", &status) == 0, "\(name)")
        return status
    }

    func objectPath(_ digest: Digest) -> String {
        "\(cachePath)/objects/sha256/\(digest.hex.prefix(2))/\(digest.hex)"
    }

    /// Replaces a file, even a read-only one, with a file of other bytes.
    func overwrite(_ path: String, with bytes: [UInt8]) throws {
        unlink(path)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}
