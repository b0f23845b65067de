import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderExport

/// The lookup of files for the entries of a manifest.
@Suite struct ImportLookupTests {
    private static let folder = "com.github.kean.Nuke.DataCache"
    private static let canonical = "http://a.example/mail.png"
    private static let spelled = "HTTP://a.example/mail.png"

    private func put(_ bytes: [UInt8], _ name: String, _ scene: ExportScene) throws {
        let path = URL(fileURLWithPath: "\(scene.target)/\(name)")
        try FileManager.default.createDirectory(
            at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
        try scene.overwrite(path.path, with: bytes)
    }

    private func run(
        _ layout: ExportLayout, _ scene: ExportScene, manifest: String, _ others: String...,
        into name: String = "cache"
    ) throws -> ImportReport {
        try Importer(
            try Cache.create(at: scene.directory.path(name)),
            ImportConfiguration(layout: layout, directory: scene.target)
        ).run(([manifest] + others).map { .bytes(Array($0.utf8), name: "test") })
    }

    /// Returns entries that precede those under test.
    private static func filler(_ count: Int) -> [[String: String]] {
        (0..<count).map { ["icon": "https://a.example/filler/\($0)"] }
    }

    private static func manifest(_ entries: [[String: String]]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: entries), as: UTF8.self)
    }

    /// Numbers of preceding entries that put the end of a page of 500 before, between and after the
    /// entries under test.
    private static let fillers = [0, 498, 499, 500]

    @Test(arguments: fillers) func eachSpellingOfAURLIsLookedUp(_ filler: Int) throws {
        try ExportScene.run { scene in
            try put(ExportScene.icon(0), "\(Self.folder)/\(Self.canonical.sha1Hex)", scene)
            let other = "HTTP://A.example/mail.png"
            let manifest = try Self.manifest(
                Self.filler(filler) + [
                    ["icon": Self.spelled], ["icon": Self.canonical], ["icon": other],
                ])
            let report = try run(.nuke, scene, manifest: manifest)
            #expect(report.imported == 1 && report.present == 2, "\(report)")
            #expect(report.missing == filler && report.failed == 0)
            let cache = try Cache.open(at: scene.cachePath)
            #expect(try cache.resource(spelledAs: Self.spelled)?.key == Self.canonical)
            #expect(try cache.resource(spelledAs: other)?.key == Self.canonical)
        }
    }

    /// Two manifests can give different URLs for one key. The file of either URL is imported.
    @Test(arguments: fillers) func eachURLOfAKeyIsLookedUp(_ filler: Int) throws {
        try ExportScene.run { scene in
            let urls = ["https://a.example/1", "https://a.example/2"]
            let manifest = try Self.manifest(
                Self.filler(filler) + [["icon": urls[0], "key": "app"]])
            let other = try Self.manifest([["icon": urls[1], "key": "app"]])
            #expect(mkdir(scene.target, 0o755) == 0)
            #expect(mkdir("\(scene.target)/\(Self.folder)", 0o755) == 0)
            let none = try run(.nuke, scene, manifest: manifest, other)
            #expect(none.missing == filler + 2 && none.present == 0, "\(none)")
            // The file of the first URL is not an image.
            try put([1, 2], "\(Self.folder)/\(urls[0].sha1Hex)", scene)
            try put(ExportScene.icon(1), "\(Self.folder)/\(urls[1].sha1Hex)", scene)
            let report = try run(.nuke, scene, manifest: manifest, other)
            #expect(report.imported == 1 && report.present == 0, "\(report)")
            #expect(report.problems.counts == [.notAnImage: 1])
            #expect(try Cache.open(at: scene.cachePath).resource("key:app")?.url == urls[1])
        }
    }

    @Test(arguments: fillers) func aRepeatedURLWithoutAFileIsMissingTwice(_ filler: Int) throws {
        try ExportScene.run { scene in
            try put([], "\(Self.folder)/other", scene)
            let manifest = try Self.manifest(
                Self.filler(filler) + [["icon": Self.canonical], ["icon": Self.canonical]])
            let report = try run(.nuke, scene, manifest: manifest)
            #expect(report.missing == filler + 2 && report.present == 0, "\(report)")
        }
    }

    /// A file is in the place of an object directory, so both entries of this icon fail.
    @Test func anIconThatCannotBeStoredIsNotPresent() throws {
        try ExportScene.run { scene in
            let bytes = ExportScene.icon(0)
            try put(bytes, "\(Self.folder)/\(Self.canonical.sha1Hex)", scene)
            let other = "http://a.example/other.png"
            try put(ExportScene.icon(1), "\(Self.folder)/\(other.sha1Hex)", scene)
            let digests = try [0, 1].map { try #require(try Digest.of(ExportScene.icon($0))) }
            try #require(digests[0].hex.prefix(2) != digests[1].hex.prefix(2))
            try Cache.create(at: scene.cachePath).close()
            let obstacle = URL(fileURLWithPath: scene.objectPath(digests[0]))
                .deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: obstacle.deletingLastPathComponent(), withIntermediateDirectories: true)
            try scene.overwrite(obstacle.path, with: [0])
            let manifest = try Self.manifest(
                [Self.canonical, other, Self.spelled, other].map { ["icon": $0] })
            let report = try run(.nuke, scene, manifest: manifest)
            #expect(report.problems.counts == [.unstored: 2], "\(report)")
            #expect(report.imported == 1 && report.present == 1 && report.missing == 0)
        }
    }

    /// An export of the whole cache uses the canonical spelling of URLs.
    @Test(arguments: [ExportLayout.files, .nuke])
    func anExportWithoutAManifestCanBeImported(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.canonical)
            try scene.export(layout)
            let manifest = try Self.manifest([["icon": Self.spelled]])
            #expect(try run(layout, scene, manifest: manifest, into: "copy").imported == 1)
        }
    }

    // MARK: - Responses

    /// Coil also stores the bodies of some errors. It stores a status of 304 with the body that the
    /// server confirmed.
    @Test(
        arguments: [
            ("", [:]), ("200\n1\n2\n0\n", [:]), ("206\n", [:]), ("304\n1\n", [:]),
            ("404\n1\n2\n0\n", [.errorResponse: 1]), ("300\n", [.errorResponse: 1]),
            ("HTTP/1.1 200 OK\n", [.errorResponse: 1]), ("\n200\n", [.errorResponse: 1]),
            (String(repeating: "2", count: 100), [.errorResponse: 1]),
        ] as [(String, [ImportCode: Int])])
    func coilsErrorBodiesAreNotImported(_ headers: String, _ problems: [ImportCode: Int]) throws {
        try ExportScene.run { scene in
            let name = "coil3_disk_cache/\(Self.canonical.sha256Hex)"
            try put(ExportScene.icon(0), name + ".1", scene)
            try put(Array(headers.utf8), name + ".0", scene)
            let manifest = try Self.manifest([["icon": Self.canonical]])
            let report = try run(.coil, scene, manifest: manifest)
            #expect(report.problems.counts == problems)
            #expect(report.imported == (problems.isEmpty ? 1 : 0))
        }
    }

    /// Coil ignores an entry without headers.
    @Test(arguments: [ExportLayout.coil, .coil2])
    func aCoilBodyWithoutHeadersIsMissing(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            let folder = layout == .coil ? "coil3_disk_cache" : "image_cache"
            let name = "\(folder)/\(Self.canonical.sha256Hex)"
            try put(ExportScene.icon(0), name + ".1", scene)
            let manifest = try Self.manifest([["icon": Self.canonical]])
            #expect(try run(layout, scene, manifest: manifest).missing == 1)
            symlink("/dev/null", "\(scene.target)/\(name).0")
            #expect(try run(layout, scene, manifest: manifest).problems.counts == [.notAFile: 1])
        }
    }

    // MARK: - Files with several names

    @Test func eachNameOfAHardLinkedFileIsCheckedForItsEntry() throws {
        try ExportScene.run { scene in
            let bytes = ExportScene.icon(0)
            let urls = (0..<6).map { "https://a.example/\($0).svg" }
            try put(bytes, "\(Self.folder)/\(urls[0].sha1Hex)", scene)
            for url in urls.dropFirst() {
                let folder = "\(scene.target)/\(Self.folder)"
                #expect(link("\(folder)/\(urls[0].sha1Hex)", "\(folder)/\(url.sha1Hex)") == 0)
            }
            let digest = try #require(try Digest.of(bytes))
            let zeros = String(repeating: "0", count: 64)
            let manifest = """
                [{"icon": "\(urls[0])", "sha256": "\(zeros)"}, {"icon": "\(urls[1])"},
                 {"icon": "\(urls[2])", "size": 1}, {"icon": "\(urls[3])", "size": \(bytes.count)},
                 {"icon": "\(urls[4])", "sha256": "\(digest.hex)"}, {"icon": "\(urls[5])"}]
                """
            let report = try run(.nuke, scene, manifest: manifest)
            #expect(report.imported == 4, "\(report)")
            #expect(report.problems.counts == [.integrityMismatch: 1, .sizeMismatch: 1])
            let cache = try Cache.open(at: scene.cachePath)
            for url in [urls[1], urls[3], urls[4], urls[5]] {
                #expect(try cache.resource(url)?.object.digest == digest)
                #expect(try cache.resource(url)?.object.width == 16)
            }
            #expect(try cache.verify().findings.isEmpty)
            // A file that is not an image fails under each of its names.
            let other = scene.directory.path("other")
            try put(Array("<html>".utf8), "\(Self.folder)/\(urls[0].sha1Hex)", scene)
            #expect(link("\(scene.target)/\(Self.folder)/\(urls[0].sha1Hex)", other) == 0)
            for url in urls.dropFirst() {
                let place = "\(scene.target)/\(Self.folder)/\(url.sha1Hex)"
                unlink(place)
                #expect(link(other, place) == 0)
            }
            let all = try Self.manifest(urls.map { ["icon": $0] })
            let bad = try run(.nuke, scene, manifest: all, into: "copy")
            #expect(bad.problems.counts == [.notAnImage: 6])
            #expect(Set(bad.problems.failures.map(\.message)).count == 1)
        }
    }

    #if os(Linux)
        /// Nuke and SDWebImage remove the least recently read files first.
        @Test func importingKeepsTheAccessTime() throws {
            try ExportScene.run { scene in
                let name = "\(Self.folder)/\(Self.canonical.sha1Hex)"
                try put(ExportScene.icon(0), name, scene)
                let old = [timeval(tv_sec: 1000, tv_usec: 0), timeval(tv_sec: 2000, tv_usec: 0)]
                #expect(utimes("\(scene.target)/\(name)", old) == 0)
                let manifest = try Self.manifest([["icon": Self.canonical]])
                #expect(try run(.nuke, scene, manifest: manifest).imported == 1)
                #expect(try scene.status(name).st_atim.tv_sec == 1000)
            }
        }
    #endif
}
