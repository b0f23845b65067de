import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderTestSupport
import Testing

@testable import LarderExport

/// Exports of the gallery as static files.
@Suite struct GalleryExportTests {
    private static let urls = (0..<4).map { "https://a.example/\($0).svg" }

    private static func manifest(_ count: Int) throws -> String {
        try ExportScene.manifest(urls.prefix(count).enumerated().map { ("App \($0)", $1) })
    }

    private func icons(_ scene: ExportScene) -> Set<String> {
        Set(scene.files().keys.filter { $0.hasPrefix("objects/") })
    }

    @Test func eachIconOfTheGalleryIsWrittenOnce() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let twice = try ExportScene.manifest(
                (Self.urls + [Self.urls[0]]).map { ("App", $0) })
            let report = try scene.export(.gallery, manifest: twice)
            #expect(report.icons == 5 && report.duplicates == 1 && report.failed == 0)
            let digests = try (0..<4).map { try #require(try Digest.of(ExportScene.icon($0))).hex }
            #expect(icons(scene) == Set(digests.map { "objects/\($0).svg" }))
            for path in ["index.html", "gallery/gallery.js", "gallery/icons-0.js"] {
                #expect(scene.files()[path] != nil, "\(path)")
            }
            let before = scene.fileStates()
            let again = try scene.export(.gallery, manifest: twice)
            #expect(again.unchanged == 4 && again.bytes == 0)
            #expect(scene.fileStates() == before)
        }
    }

    /// Pruning removes only files with the names of exported ones.
    @Test func pruningTheGalleryKeepsForeignFiles() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(.gallery, manifest: try Self.manifest(4))
            let foreign = [
                "objects/notes.txt", "objects/\(String(repeating: "a", count: 64)).exe",
                "objects/\(String(repeating: "A", count: 64)).svg", "gallery/icons-x.js",
                "gallery/mine.css", "mine.html",
            ]
            for path in foreign { try scene.overwrite("\(scene.target)/\(path)", with: [1]) }
            try scene.overwrite("\(scene.target)/gallery/icons-7.js", with: [1])
            #expect(try scene.export(.gallery, manifest: try Self.manifest(1)).pruned == 0)
            #expect(scene.files()["gallery/icons-7.js"] != nil)
            let report = try scene.export(.gallery, manifest: try Self.manifest(1)) {
                $0.isPruning = true
            }
            #expect(report.pruned == 3)
            let files = scene.files()
            #expect(foreign.allSatisfy { files[$0] != nil })
            #expect(files["gallery/icons-7.js"] == nil && files["gallery/icons-0.js"] != nil)
        }
    }

    @Test func linksInPlaceOfGalleryFoldersAreNotFollowed() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let elsewhere = scene.directory.path("elsewhere")
            try FileManager.default.createDirectory(
                atPath: elsewhere, withIntermediateDirectories: true)
            try FileManager.default.createDirectory(
                atPath: scene.target, withIntermediateDirectories: true)
            #expect(symlink(elsewhere, scene.target + "/objects") == 0)
            #expect(throws: (any Error).self) { try scene.export(.gallery) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere).isEmpty)
        }
    }

    @Test func theGalleryCountsProblemsLikeTheFilesLayout() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.urls[0])
            let manifest = """
                [{"name": "A", "icon": "\(Self.urls[0])", "sha256": "\(String(repeating: "0", count: 64))"},
                 {"name": "B", "icon": "\(Self.urls[0])", "size": 1},
                 {"name": "C"}, {"name": "D", "icon": "https://"},
                 {"name": "G", "icon": "ftp://a.example/"},
                 {"name": "E", "icon": "\(Self.urls[1])"},
                 {"name": "F", "icon": "\(Self.urls[0])", "sha256": "\(digest.hex)"}]
                """
            let reports = try [ExportLayout.gallery, .files].map { layout in
                try scene.export(
                    layout, manifest: manifest, to: scene.directory.path(layout.rawValue))
            }
            for report in reports {
                #expect(
                    report.problems.counts == [
                        .integrityMismatch: 1, .sizeMismatch: 1, .noIcon: 1, .badEntry: 1,
                        .missing: 1, .noURL: 1,
                    ])
                #expect(report.icons == 7 && report.unfinished == 0, "\(report)")
            }
        }
    }

    /// The gallery shows the state of the cache, so it checks the object and not the copy.
    @Test func theGalleryFindsDamageBehindAnIntactCopy() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(.gallery) { $0.copiesAll = true }
            let digest = try #require(try Digest.of(ExportScene.icon(1)))
            try scene.overwrite(scene.objectPath(digest), with: ExportScene.icon(5))
            let report = try scene.export(.gallery) {
                $0.copiesAll = true
                $0.isPruning = true
            }
            #expect(report.problems.counts == [.corrupt: 1] && report.unchanged == 3)
            let part = String(
                decoding: scene.files()["gallery/icons-0.js"] ?? [], as: UTF8.self)
            #expect(part.contains(#""state":"corrupt""#))
            // The copy is intact, and stays until the icon is intact again.
            #expect(report.pruned == 0 && icons(scene).contains("objects/\(digest.hex).svg"))
        }
    }

    /// The export prunes nothing, and does not read the rest of a long manifest.
    @Test func anInterruptedGalleryExportEndsEarly() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(.gallery)
            let urls = Self.urls.prefix(2) + (0..<20_000).map { "https://a.example/none/\($0)" }
            let manifest = ManifestSource.bytes(
                Array(urls.joined(separator: "\n").utf8), name: "test")
            for limit in [1, 10_000] {
                var (done, asked) = (0, 0)
                let report = try Exporter(
                    try Cache.open(at: scene.cachePath),
                    {
                        var configuration = ExportConfiguration(
                            layout: .gallery, directory: scene.target)
                        configuration.isPruning = true
                        return configuration
                    }(),
                    isCancelled: {
                        asked += 1
                        return asked >= limit
                    }, onProgress: { done = $0.objects }
                ).export([manifest])
                #expect(report.isInterrupted && report.pruned == 0)
                #expect(done <= limit && report.icons <= limit)
                #expect(icons(scene).count == 4)
            }
        }
    }
}
