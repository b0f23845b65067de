import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderExport

/// A gallery as static files.
@Suite struct GalleryExportTests {
    private static let urls = (0..<4).map { "https://a.example/\($0).svg" }

    private static func manifest(_ count: Int) throws -> String {
        try ExportScene.manifest(urls.prefix(count).enumerated().map { ("App \($0)", $1) })
    }

    private func icons(_ scene: ExportScene) -> Set<String> {
        Set(scene.files().keys.filter { $0.hasPrefix("objects/") })
    }

    /// Every icon once, named by its digest; written again, nothing changes.
    @Test func itIsWrittenOnce() throws {
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
            let before = scene.prints()
            let again = try scene.export(.gallery, manifest: twice)
            #expect(again.unchanged == 4 && again.bytes == 0)
            #expect(scene.prints() == before)
        }
    }

    /// Only what an export has the name of is removed.
    @Test func pruningLeavesOthersFiles() throws {
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

    /// A link in the place of one of its folders leads nowhere.
    @Test func linksAreNotFollowed() throws {
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
}
