import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderTestSupport
import Testing

@testable import LarderExport

/// Exports in the layouts of image libraries.
@Suite struct KeyedExportTests {
    private static let urls = (0..<5).map { "https://a.example/icons/\($0).svg?size=64" }
    private static let layouts = ExportLayout.allCases.filter(\.hasFolder)

    /// Returns the files that a library looks for, by an independent version of its rules.
    private static func expected(
        _ layout: ExportLayout, _ urls: [(String, [UInt8])]
    ) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for (url, bytes) in urls {
            switch layout {
            case .nuke: files["com.github.kean.Nuke.DataCache/\(reference(url, "sha1sum"))"] = bytes
            case .sdwebimage:
                let name = "com.hackemist.SDImageCache/default/\(reference(url, "md5sum")).svg"
                files[name] = bytes
            case .kingfisher, .kingfisher7:
                let name = reference(url, layout == .kingfisher ? "sha256sum" : "md5sum")
                files["com.onevcat.Kingfisher.ImageCache.default/\(name)"] = bytes
            case .coil, .coil2:
                let folder = layout == .coil ? "coil3_disk_cache" : "image_cache"
                files["\(folder)/\(reference(url, "sha256sum")).0"] = []
                files["\(folder)/\(reference(url, "sha256sum")).1"] = bytes
            case .glide:
                files["image_manager_disk_cache/\(reference(url, "sha256sum")).0"] = bytes
            case .files, .assetCatalog, .gallery: break
            }
        }
        return files
    }

    /// Returns a digest computed by a tool of coreutils.
    private static func reference(_ text: String, _ tool: String) -> String {
        let command = "printf %s \"$TEXT\" | \(tool) | cut -d' ' -f1"
        let finished = try? RunningProcess(
            "/bin/sh", ["-c", command],
            environment: ["TEXT": text, "PATH": "/usr/bin:/bin"]
        ).wait()
        return (finished?.standardOutput ?? "?").trimmingCharacters(in: .newlines)
    }

    private static var icons: [(String, [UInt8])] {
        urls.enumerated().map { ($1, ExportScene.icon($0)) }
    }

    private func withoutJournal(_ files: [String: [UInt8]]) -> [String: [UInt8]] {
        files.filter { !$0.key.hasSuffix("/journal") }
    }

    @Test(arguments: layouts) func exportedFilesAreWhereTheLibraryLooks(_ layout: ExportLayout)
        throws
    {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let report = try scene.export(layout)
            #expect(report.icons == 5)
            #expect(report.linked + report.cloned + report.copied == 5)
            #expect(report.failed == 0 && report.unfinished == 0)
            #expect(withoutJournal(scene.files()) == Self.expected(layout, Self.icons))
        }
    }

    @Test(arguments: layouts) func aRepeatedExportChangesNothing(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(layout)
            let before = scene.fileStates()
            let report = try scene.export(layout) { $0.isPruning = true }
            #expect(report.unchanged == 5)
            #expect(report.bytes == 0 && report.pruned == 0)
            #expect(scene.fileStates() == before)
        }
    }

    @Test(arguments: layouts) func onlyChangedIconsAreExportedAgain(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(layout)
            let before = scene.fileStates()
            try scene.store(ExportScene.icon(1000), at: Self.urls[2])
            let report = try scene.export(layout)
            #expect(report.unchanged == 4)
            #expect(report.linked + report.cloned + report.copied == 1)
            var icons = Self.icons
            icons[2].1 = ExportScene.icon(1000)
            #expect(withoutJournal(scene.files()) == Self.expected(layout, icons))
            let after = scene.fileStates()
            let changed = after.filter {
                before[$0.key] != $0.value && !$0.key.hasSuffix("journal")
            }
            #expect(changed.count == 1, "\(changed)")
        }
    }

    @Test(arguments: layouts) func pruningRemovesOnlyIconsThatTheManifestLacks(
        _ layout: ExportLayout
    ) throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let folder = try scene.export(layout).directory
            let foreign = [
                "notes.txt", ".larder-x.partial", "\(String(repeating: "a", count: 63))",
            ]
            for name in foreign {
                try Data([1]).write(to: URL(fileURLWithPath: folder + "/" + name))
            }
            // A temporary file of a killed export.
            try Data([1]).write(to: URL(fileURLWithPath: folder + "/.larder-7.partial"))
            let two = Array(Self.urls.prefix(2))
            let manifest = try ExportScene.manifest(two.map { ("", $0) })
            // Without pruning, all exported icons stay.
            #expect(try scene.export(layout, manifest: manifest).pruned == 0)
            let all = Self.expected(layout, Self.icons)
            #expect(Set(all.keys).isSubset(of: scene.files().keys))
            #expect(!FileManager.default.fileExists(atPath: folder + "/.larder-7.partial"))
            let report = try scene.export(layout, manifest: manifest) { $0.isPruning = true }
            #expect(report.pruned == 3)
            let left = withoutJournal(scene.files())
            let base = String(folder.dropFirst(scene.target.count + 1))
            let expected = Self.expected(layout, Array(Self.icons.prefix(2)))
                .merging(foreign.map { ("\(base)/\($0)", [1]) }) { $1 }
            #expect(left == expected)
        }
    }

    @Test func newJournalsHaveTheFormatOfTheLibrary() throws {
        try ExportScene.run { scene in
            try scene.store([1, 2, 3], at: "https://example.com/image.png", mediaType: "image/png")
            let key = "99a19c215d3db74ae82c36fa43878f88c5e63830dc30799320b01a4f5aa341e4"
            try scene.export(.coil)
            try scene.export(.coil2)
            try scene.export(.glide)
            func journal(_ folder: String) -> String {
                String(decoding: scene.files()["\(folder)/journal"] ?? [], as: UTF8.self)
            }
            #expect(
                journal("coil3_disk_cache")
                    == "libcore.io.DiskLruCache\n1\n3\n2\n\nCLEAN \(key) 0 3\n")
            #expect(
                journal("image_cache")
                    == "libcore.io.DiskLruCache\n1\n1\n2\n\nCLEAN \(key) 0 3\n")
            #expect(
                journal("image_manager_disk_cache")
                    == "libcore.io.DiskLruCache\n1\n1\n1\n\nCLEAN \(key) 3\n")
        }
    }

    // MARK: - Dates

    /// These libraries compute the expiration from the dates, which hard links share.
    @Test(arguments: [ExportLayout.kingfisher, .sdwebimage])
    func filesWithExpirationDatesAreCopiesThatDoNotExpire(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.urls[0])
            let object = scene.objectPath(digest)
            // The object is a month old.
            let old = timeval(tv_sec: time(nil) - 30 * 86_400, tv_usec: 0)
            utimes(object, [old, old])
            func objectStatus() -> [Int] {
                var status = stat()
                #expect(lstat(object, &status) == 0)
                return [Int(status.st_nlink), Int(status.st_mtim.tv_sec), Int(status.st_mode)]
            }
            let before = objectStatus()
            let folder = try scene.export(layout).directory
            let keyed = try #require(layout.library)
            let name = keyed.stem(of: Self.urls[0])
            let status = try scene.status(name, in: folder)
            #expect(status.st_mtim.tv_sec == 2_145_830_400)
            #expect(status.st_atim.tv_sec > time(nil) - 1000)
            #expect(status.st_mode & 0o200 != 0)
            #expect(objectStatus() == before)
            // An app has used the file, or a copy has lost its dates.
            for dates in [[old, old], [old, timeval(tv_sec: 2_145_830_400, tv_usec: 0)]] {
                utimes("\(folder)/\(name)", dates)
                #expect(try scene.export(layout).unchanged == 1)
                let again = try scene.status(name, in: folder)
                #expect(again.st_mtim.tv_sec == 2_145_830_400)
                #expect(again.st_atim.tv_sec > time(nil) - 1000)
                #expect(again.st_ino == status.st_ino)
            }
            // Earlier versions made hard links.
            unlink("\(folder)/\(name)")
            #expect(link(object, "\(folder)/\(name)") == 0)
            #expect(try scene.export(layout).unchanged == 0)
            #expect(try scene.status(name, in: folder).st_mtim.tv_sec == 2_145_830_400)
            #expect(objectStatus() == before)
        }
    }

    // MARK: - Folders

    @Test(arguments: layouts) func exportsAndImportsSupportTheAppsOwnFolder(_ layout: ExportLayout)
        throws
    {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let own = try scene.export(layout)
            let copy = scene.directory.path("other")
            let report = try scene.export(layout, to: copy) { $0.folder = "com.example.icons" }
            #expect(report.directory.hasSuffix("/com.example.icons"))
            let files = scene.files(in: report.directory)
            #expect(files == scene.files(in: own.directory) && files.count >= 5)
            let manifest = try ExportScene.manifest(Self.urls.map { ("", $0) })
            var configuration = ImportConfiguration(layout: layout, directory: copy)
            let cache = try Cache.create(at: scene.directory.path("copy"))
            let source = ManifestSource.bytes(Array(manifest.utf8), name: "test")
            #expect(throws: CacheError.self) { try Importer(cache, configuration).run([source]) }
            configuration.folder = "com.example.icons"
            #expect(try Importer(cache, configuration).run([source]).imported == 5)
        }
    }

    @Test func copiesAreIndependentOfTheCache() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.urls[0])
            let folder = try scene.export(.nuke).directory
            let name = Self.urls[0].sha1Hex
            let report = try scene.export(.nuke) { $0.copiesAll = true }
            #expect(report.copied + report.unchanged == 1)
            #expect(try scene.status(name, in: folder).st_nlink == 1)
            #expect(try scene.status(name, in: folder).st_mode & 0o200 != 0)
            var object = stat()
            #expect(lstat(scene.objectPath(digest), &object) == 0)
            #expect(object.st_nlink == 1)
        }
    }

    // MARK: - Keys

    /// Apps look icons up by the URL in the manifest, which is never normalised.
    @Test func fileNamesFollowTheManifestsSpellingOfTheURL() throws {
        try ExportScene.run { scene in
            let canonical = "https://a.example/b.svg"
            let spelled = "HTTPS://A.example:443/x/../b.svg#top"
            try scene.store(ExportScene.icon(0), at: canonical)
            let manifest = try ExportScene.manifest([("", spelled)])
            try scene.export(.nuke, manifest: manifest)
            let name = "com.github.kean.Nuke.DataCache/" + spelled.sha1Hex
            #expect(Array(scene.files().keys) == [name])
            // Without a manifest, the icon is exported under its URL and each recorded spelling.
            try scene.record(spelled, of: canonical)
            let all = scene.directory.path("all")
            let report = try scene.export(.nuke, to: all)
            #expect(report.icons == 2)
            #expect(
                Set(scene.files(in: all).keys)
                    == [name, "com.github.kean.Nuke.DataCache/" + canonical.sha1Hex])
        }
    }

    @Test func everySpellingOfAURLIsExported() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: "https://a.example/b.svg")
            let cache = try Cache.create(at: scene.cachePath)
            let texts = (0..<1203).map { "https://a.example/./b.svg#\($0)" }
            for start in stride(from: 0, to: texts.count, by: 100) {
                try cache.record(
                    texts[start..<min(start + 100, texts.count)].map {
                        (text: $0, key: "https://a.example/b.svg")
                    })
            }
            cache.close()
            #expect(try scene.export(.nuke).icons == 1204)
            #expect(scene.files().count == 1204)
        }
    }

    @Test func iconsWithAKeyAreExportedUnderTheirURL() throws {
        try ExportScene.run { scene in
            let url = "https://a.example/signed.svg?sig=1"
            try scene.store(ExportScene.icon(0), at: "key:app", url: url)
            let written = "https://A.example/signed.svg?sig=2"
            try scene.export(
                .sdwebimage, manifest: #"[{"icon": "\#(written)", "key": "app"}]"#)
            #expect(
                Array(scene.files().keys)
                    == ["com.hackemist.SDImageCache/default/\(written.md5Hex).svg"])
            let all = scene.directory.path("all")
            try scene.export(.sdwebimage, to: all)
            #expect(
                Array(scene.files(in: all).keys)
                    == ["com.hackemist.SDImageCache/default/\(url.md5Hex).svg"])
        }
    }

    @Test func librariesGetNoIconsWithoutAURL() throws {
        try ExportScene.run { scene in
            let inline = Array(#"<svg xmlns="http://www.w3.org/2000/svg"/>"#.utf8)
            let data = "data:image/svg+xml;base64," + Data(inline).base64EncodedString()
            let manifest = try ExportScene.manifest([("App", data), ("None", "")])
            let digest = try #require(try Digest.of(inline))
            try scene.store(inline, at: ResourceKey.name(of: digest))
            for manifest in [manifest, nil] {
                let report = try scene.export(.nuke, manifest: manifest)
                #expect(report.problems.counts[.noURL] == 1)
                #expect(report.failed == 0)
            }
            #expect(scene.files().isEmpty)
            #expect(try scene.export(.files, manifest: manifest).problems.counts == [.noIcon: 1])
            #expect(scene.files()["App.svg"] == inline)
        }
    }

    @Test func otherContentIsExportedOnlyIfAManifestNamesIt() throws {
        try ExportScene.run { scene in
            let url = "https://a.example/apps.json"
            try scene.store(Array("[]".utf8), at: url, mediaType: nil)
            let report = try scene.export(.nuke)
            #expect(report.problems.counts == [.notAnImage: 1])
            let manifest = try ExportScene.manifest([("", url)])
            let named = try scene.export(.nuke, manifest: manifest)
            #expect(named.problems.counts.isEmpty)
            #expect(scene.files().values.map { $0 } == [Array("[]".utf8)])
        }
    }
}
