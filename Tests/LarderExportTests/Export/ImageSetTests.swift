import Foundation
import LarderTestSupport
import Testing

@testable import LarderExport

/// Image sets that are unfinished, hostile or renamed.
@Suite struct ImageSetTests {
    private static let url = "https://a.example/0.svg"

    private func run(_ body: (ExportScene, _ set: String, _ manifest: String) throws -> Void) throws
    {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let set = scene.target + "/App.imageset"
            try FileManager.default.createDirectory(
                atPath: set, withIntermediateDirectories: true)
            try body(scene, set, try ExportScene.manifest([("App", Self.url)]))
        }
    }

    private func expectWhole(_ scene: ExportScene) {
        let files = scene.files()
        #expect(
            Set(files.keys)
                == ["Contents.json", "App.imageset/Contents.json", "App.imageset/App.svg"])
        #expect(files["App.imageset/App.svg"] == ExportScene.icon(0))
    }

    private static func contents(_ file: String) -> [UInt8] {
        Array(ImageSet.contents(of: [(file, nil)], mediaType: nil).utf8)
    }

    /// A kill between two steps leaves an empty set, only the image, only the description, or a
    /// description of a different image.
    @Test(arguments: [
        [:], ["App.svg": ExportScene.icon(0)], ["App.svg": [1, 2]],
        ["Contents.json": contents("App.svg")],
        ["Contents.json": contents("App.png"), "App.svg": ExportScene.icon(0)],
        ["Contents.json": contents("App.svg"), "App.png": [1]],
    ])
    func anUnfinishedImageSetIsCompleted(_ files: [String: [UInt8]]) throws {
        try run { scene, set, manifest in
            for (name, bytes) in files { try scene.overwrite("\(set)/\(name)", with: bytes) }
            #expect(try scene.export(.assetCatalog, manifest: manifest).failed == 0)
            expectWhole(scene)
        }
    }

    @Test(arguments: [
        [:], ["App.svg": ExportScene.icon(0)], ["Contents.json": contents("App.svg")],
        ["Contents.json": contents("App.svg"), "App.png": [1]],
    ])
    func anUnfinishedImageSetIsPruned(_ files: [String: [UInt8]]) throws {
        try run { scene, set, _ in
            for (name, bytes) in files { try scene.overwrite("\(set)/\(name)", with: bytes) }
            let report = try scene.export(.assetCatalog, manifest: "[]") { $0.isPruning = true }
            #expect(report.pruned == 1)
            #expect(!FileManager.default.fileExists(atPath: set))
        }
    }

    /// The description is untrusted. A file that it names is removed only if the name is that of an
    /// image.
    @Test(arguments: ["sub", "Contents.json", "sub.png", "notes.txt", "../Contents.json", ".svg"])
    func aHostileImageSetDescriptionRemovesNothing(_ file: String) throws {
        try run { scene, set, manifest in
            try scene.store(ExportScene.icon(1), at: "https://a.example/1.svg")
            try scene.overwrite("\(set)/Contents.json", with: Self.contents(file))
            try scene.overwrite("\(set)/notes.txt", with: [1])
            for name in ["sub", "sub.png"] {
                try FileManager.default.createDirectory(
                    atPath: "\(set)/\(name)", withIntermediateDirectories: true)
            }
            let both = try ExportScene.manifest([
                ("App", Self.url), ("Other", "https://a.example/1.svg"),
            ])
            let report = try scene.export(.assetCatalog, manifest: both)
            #expect(report.linked + report.cloned + report.copied >= 1)
            #expect(report.failed == (file == "sub.png" ? 0 : 1))
            let files = scene.files()
            #expect(files["Other.imageset/Other.svg"] == ExportScene.icon(1))
            #expect(files["App.imageset/Contents.json"] != nil)
            try scene.export(.assetCatalog, manifest: "[]") { $0.isPruning = true }
            for name in ["sub", "sub.png", "notes.txt", "Contents.json"] {
                #expect(FileManager.default.fileExists(atPath: "\(set)/\(name)"), "\(name)")
            }
        }
    }

    /// On a case-sensitive file system, the set with the old name is pruned.
    @Test func changingTheCaseOfANameLeavesOneImageSet() throws {
        try run { scene, set, manifest in
            try scene.export(.assetCatalog, manifest: manifest)
            let renamed = try ExportScene.manifest([("app", Self.url)])
            try scene.export(.assetCatalog, manifest: renamed) { $0.isPruning = true }
            let files = scene.files()
            #expect(files.values.filter { $0 == ExportScene.icon(0) }.count == 1)
            #expect(files.count == 3)
        }
    }
}
