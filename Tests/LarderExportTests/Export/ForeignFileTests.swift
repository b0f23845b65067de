import Foundation
import LarderTestSupport
import Testing

@testable import LarderExport

/// Exports to directories with foreign or changed files.
@Suite struct ForeignFileTests {
    private static let url = "https://a.example/a.svg"

    @Test(arguments: [ExportLayout.nuke, .kingfisher, .files, .coil])
    func directoriesInPlaceOfTemporaryFilesAreSkipped(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let folder = try scene.export(layout).directory
            try scene.store(ExportScene.icon(1), at: Self.url)
            for serial in 1...9 { mkdir("\(folder)/.larder-\(serial).partial", 0o755) }
            #expect(try scene.export(layout).failed == 0)
            #expect(scene.files().values.contains(ExportScene.icon(1)))
            #expect(!scene.files().values.contains(ExportScene.icon(0)))
        }
    }

    @Test func allEntriesOfADamagedObjectFail() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.url)
            try scene.overwrite(scene.objectPath(digest), with: ExportScene.icon(1))
            let manifest = try ExportScene.manifest([("A", Self.url), ("A", Self.url)])
            let report = try scene.export(.nuke, manifest: manifest)
            #expect(report.problems.counts == [.corrupt: 2] && report.duplicates == 0)
        }
    }

    /// Coil does not revalidate a body with empty headers. With the old headers, it would revalidate
    /// the new body by the validators of the old one.
    @Test func coilHeadersAreReplacedBeforeTheBody() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let folder = try scene.export(.coil).directory
            let name = "\(folder)/\(Self.url.sha256Hex)"
            try scene.store(ExportScene.icon(1), at: Self.url)
            // The directory cannot be replaced, so the old body must stay, too.
            unlink(name + ".0")
            mkdir(name + ".0", 0o755)
            #expect(try scene.export(.coil).problems.counts == [.obstructed: 1])
            #expect(
                scene.files()["coil3_disk_cache/\(Self.url.sha256Hex).1"] == ExportScene.icon(0))
        }
    }

    @Test func coilHeadersStayIfTheNewBodyIsDamaged() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let folder = try scene.export(.coil).directory
            let name = "\(folder)/\(Self.url.sha256Hex)"
            try scene.overwrite(name + ".0", with: Array("200\n0\n0\n0\n".utf8))
            let digest = try scene.store(ExportScene.icon(1), at: Self.url)
            try scene.overwrite(scene.objectPath(digest), with: ExportScene.icon(2))
            #expect(try scene.export(.coil).problems.counts == [.corrupt: 1])
            #expect(try Data(contentsOf: URL(fileURLWithPath: name + ".0")).count == 10)
        }
    }
}
