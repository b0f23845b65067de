import Foundation
import LarderCache
import LarderManifest
import LarderTestSupport
import Testing

@testable import LarderExport

/// The list that the `files` layout writes.
@Suite struct FileListTests {
    private static let urls = (0..<4).map { "https://a.example/\($0).svg" }

    /// Imports and exports stop early in such a list, and can be interrupted while they read it.
    @Test func aHugeSparseListIsNotReadToItsEnd() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(.files)
            #expect(truncate(scene.target + "/index.json", 1 << 41) == 0)
            var (asked, limit) = (0, 1000)
            func isCancelled() -> Bool {
                asked += 1
                return asked > limit
            }
            let manifest: [ManifestSource] = [
                .bytes(Array(try ExportScene.manifest([("", Self.urls[0])]).utf8), name: "test")
            ]
            func importAll() throws -> ImportReport {
                try Importer(
                    try Cache.create(at: scene.directory.path("copy")),
                    ImportConfiguration(layout: .files, directory: scene.target),
                    isCancelled: isCancelled
                ).run(manifest)
            }
            func exportAll() throws -> ExportReport {
                try Exporter(
                    try Cache.open(at: scene.cachePath),
                    ExportConfiguration(layout: .files, directory: scene.target),
                    isCancelled: isCancelled
                ).export(nil)
            }
            // The allocated part of the list is read.
            #expect(try importAll().imported == 1)
            asked = 0
            limit = 5
            let imported = try importAll()
            #expect(imported.isInterrupted && imported.imported == 0)
            asked = 0
            let interrupted = try exportAll()
            #expect(interrupted.isInterrupted && interrupted.pruned == 0)
            asked = 0
            limit = 1000
            let report = try exportAll()
            #expect(!report.isInterrupted && report.pruned == 0)
        }
    }

    /// Comparing the file with its digest would take minutes.
    @Test(.timeLimit(.minutes(1)), arguments: [1 << 41, 1 << 30])
    func aHugeListedFileIsKept(_ size: Int) throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(.files)
            try scene.overwrite(scene.target + "/huge.svg", with: [])
            #expect(truncate(scene.target + "/huge.svg", off_t(size)) == 0)
            // The digest of 1 GiB of zeros, computed with sha256sum. Only reading the whole file
            // could confirm it.
            let digest = "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14"
            let line = #"{"name":"","url":null,"file":"huge.svg","bytes":\#(size),"#
            let text = "[\n" + line + #""digest":"sha256:\#(digest)","media_type":null}"# + "\n]\n"
            try scene.overwrite(scene.target + "/index.json", with: Array(text.utf8))
            #expect(try scene.export(.files) { $0.isPruning = true }.pruned == 0)
            #expect(FileManager.default.fileExists(atPath: scene.target + "/huge.svg"))
        }
    }

    /// An interrupted export has replaced some files, but not the list with their old digests.
    @Test func filesOfAnInterruptedExportAreImportedAndPruned() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let all = try ExportScene.manifest(Self.urls.enumerated().map { ("App\($0)", $1) })
            try scene.export(.files, manifest: all)
            for (number, url) in Self.urls.enumerated() {
                try scene.store(ExportScene.icon(10 + number), at: url)
            }
            var done = 0
            let report = try Exporter(
                try Cache.open(at: scene.cachePath),
                ExportConfiguration(layout: .files, directory: scene.target),
                isCancelled: { done >= 2 }, onProgress: { done = $0.objects }
            ).export([.bytes(Array(all.utf8), name: "test")])
            #expect(report.isInterrupted && report.unfinished == 2)
            let copy = scene.directory.path("copy")
            let imported = try Importer(
                try Cache.create(at: copy),
                ImportConfiguration(layout: .files, directory: scene.target)
            ).run([.bytes(Array(all.utf8), name: "test")])
            #expect(imported.imported == 4, "\(imported)")
            // An export of an empty manifest prunes all of them.
            let none = try scene.export(.files, manifest: "[]") { $0.isPruning = true }
            #expect(none.pruned == 4)
            #expect(Set(scene.files().keys) == ["index.json"])
        }
    }

    /// The existing file keeps its line, because pruning removes only listed files.
    @Test func anIconThatFailsKeepsItsFileAndLine() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let all = try ExportScene.manifest(Self.urls.enumerated().map { ("App\($0)", $1) })
            try scene.export(.files, manifest: all)
            let before = scene.files()
            let digest = try scene.store(ExportScene.icon(10), at: Self.urls[0])
            try scene.overwrite(scene.objectPath(digest), with: ExportScene.icon(11))
            let report = try scene.export(.files, manifest: all) { $0.isPruning = true }
            #expect(report.problems.counts == [.corrupt: 1])
            #expect(scene.files() == before)
        }
    }

    /// Users may publish the list with the files.
    @Test func secretsOfURLsAreMasked() throws {
        try ExportScene.run { scene in
            let urls = [
                "https://a.example/a.svg?size=64&sig=sEcReT",
                "https://a.example/b.svg?u=https%3A%2F%2Fb.example%2F%3Ftoken%3DsEcReT",
                "https://a.example/c.svg?size=64",
            ]
            try scene.store(urls: urls)
            let rotating = "https://a.example/d.svg?t=sEcReT"
            try scene.store(ExportScene.icon(7), at: "key:k", url: rotating)
            try scene.export(.files)
            let list = String(
                decoding: try #require(scene.files()["index.json"]), as: UTF8.self)
            for url in [
                "a.svg?size=64&sig=***", "b.svg?u=***", "c.svg?size=64", "d.svg?***",
            ] {
                #expect(list.contains("https://a.example/\(url)\""), "\(list)")
            }
            #expect(!list.contains("sEcReT"))
            // Icons with a masked URL cannot be found by an import.
            let manifest = try ExportScene.manifest(urls.map { ("", $0) })
            let imported = try Importer(
                try Cache.create(at: scene.directory.path("copy")),
                ImportConfiguration(layout: .files, directory: scene.target)
            ).run([.bytes(Array(manifest.utf8), name: "test")])
            #expect((imported.imported, imported.missing) == (1, 2))
            #expect(try scene.export(.files).unchanged == 4)
        }
    }
}
