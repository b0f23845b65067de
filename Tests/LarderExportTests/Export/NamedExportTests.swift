import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderExport

/// Exports as named files and as asset catalogs.
@Suite struct NamedExportTests {
    private static let urls = (0..<4).map { "https://a.example/\($0).svg" }

    private func index(_ scene: ExportScene) throws -> [[String: Any]] {
        let bytes = try #require(scene.files()["index.json"])
        return try #require(
            try JSONSerialization.jsonObject(with: Data(bytes)) as? [[String: Any]])
    }

    // MARK: - Files

    @Test func theListDescribesEachExportedFile() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let manifest = try ExportScene.manifest([
                ("Beta", Self.urls[1]), ("Alpha", Self.urls[0]), ("alpha", Self.urls[2]),
                ("Alpha", Self.urls[0]), ("A/ü\u{1B}\"", Self.urls[3]),
            ])
            let report = try scene.export(.files, manifest: manifest)
            #expect(report.duplicates == 1)
            let list = try index(scene)
            #expect(
                list.compactMap { $0["name"] as? String } == [
                    "A/ü\u{1B}\"", "Alpha", "Beta", "alpha",
                ])
            let files = scene.files()
            #expect(files.count == 5)
            for entry in list {
                let file = try #require(entry["file"] as? String)
                let bytes = try #require(files[file])
                #expect(entry["bytes"] as? Int == bytes.count)
                #expect(entry["digest"] as? String == (try Digest.of(bytes))?.description)
                #expect(entry["media_type"] as? String == "image/svg+xml")
                let url = try #require(entry["url"] as? String)
                #expect(bytes == ExportScene.icon(Self.urls.firstIndex(of: url) ?? -1))
            }
            let names = list.compactMap { $0["file"] as? String }
            #expect(Set(names.map { $0.lowercased() }).count == names.count)
            #expect(names[1] == "Alpha.svg")
            let before = scene.fileStates()
            #expect(try scene.export(.files, manifest: manifest).unchanged == 4)
            #expect(scene.fileStates() == before)
        }
    }

    /// Reversing the entries changes only which of Alpha and alpha gets the plain name.
    @Test func theFirstOfSimilarNamesGetsThePlainFileName() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let entries = [
                ("Alpha", Self.urls[0]), ("alpha", Self.urls[1]), ("Beta", Self.urls[2]),
            ]
            try scene.export(.files, manifest: try ExportScene.manifest(entries))
            let before = scene.files()
            let suffixed = "alpha-\(Self.urls[1].sha256Hex.prefix(16)).svg"
            #expect(Set(before.keys) == ["Alpha.svg", suffixed, "Beta.svg", "index.json"])
            let report = try scene.export(
                .files, manifest: try ExportScene.manifest(entries.reversed())
            ) { $0.isPruning = true }
            #expect(report.unchanged == 1 && report.pruned == 2)
            let other = "Alpha-\(Self.urls[0].sha256Hex.prefix(16)).svg"
            let after = scene.files()
            #expect(Set(after.keys) == ["alpha.svg", other, "Beta.svg", "index.json"])
            #expect(after["alpha.svg"] == ExportScene.icon(1))
            #expect(after[other] == ExportScene.icon(0))
        }
    }

    @Test func pruningRemovesOnlyUnchangedFilesOfTheList() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let all = Self.urls.enumerated().map { (name: "App\($0)", url: $1) }
            try scene.export(.files, manifest: try ExportScene.manifest(all))
            try scene.overwrite(scene.target + "/foreign.svg", with: [1])
            // Another program has replaced this file.
            try scene.overwrite(scene.target + "/App3.svg", with: ExportScene.icon(99))
            let some = try ExportScene.manifest(Array(all.prefix(1)))
            // Without pruning, the other files stay and remain in the list.
            #expect(try scene.export(.files, manifest: some).pruned == 0)
            #expect(
                try index(scene).compactMap { $0["file"] as? String }.prefix(3)
                    == ["App0.svg", "App1.svg", "App2.svg"])
            let report = try scene.export(.files, manifest: some) { $0.isPruning = true }
            #expect(report.pruned == 2)
            #expect(
                Set(scene.files().keys) == ["App0.svg", "App3.svg", "foreign.svg", "index.json"])
            #expect(try index(scene).count == 1)
        }
    }

    /// The list is untrusted. Files that it names outside the target are not removed.
    @Test func aHostileListRemovesNoFiles() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try FileManager.default.createDirectory(
                atPath: scene.target + "/sub", withIntermediateDirectories: true)
            let victim = scene.directory.path("victim.svg")
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: victim))
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: scene.target + "/sub/a.svg"))
            symlink(victim, scene.target + "/link.svg")
            let digest = try #require(try Digest.of([1, 2, 3]))
            let lines = ["../victim.svg", "sub/a.svg", "link.svg", "..", "index.json", "/etc/x"]
                .map { file in
                    let head = #"{"name":"","url":null,"file":"\#(file)","bytes":3,"#
                    return head + #""digest":"\#(digest)","media_type":null}"#
                }
            let long = "{\"file\":\"" + String(repeating: "x", count: 1 << 20) + "\"}"
            let text = "[\n" + (lines + [long, "{", "nonsense"]).joined(separator: ",\n") + "\n]\n"
            try scene.overwrite(scene.target + "/index.json", with: Array(text.utf8))
            #expect(try scene.export(.files) { $0.isPruning = true }.pruned == 0)
            #expect(FileManager.default.fileExists(atPath: victim))
            #expect(FileManager.default.fileExists(atPath: scene.target + "/link.svg"))
            #expect(FileManager.default.fileExists(atPath: scene.target + "/sub/a.svg"))
            #expect(try index(scene).count == 4)
        }
    }

    @Test func linesOfTheListAreReadBack() throws {
        for name in ["", "a\"b\\", "\u{1B}[31m\n", "日本語 \u{202E}", "😀", "\\\""] {
            let text = """
                {"name":\(try json(name)),"url":\(try json("https://a.example/" + name)),"file":"a.svg",\
                "bytes":12,"digest":"sha256:\(String(repeating: "ab", count: 32))",\
                "media_type":null,"width":null,"height":null}
                """
            let line = try #require(FileIndex.Line(Array(text.utf8)), "\(text)")
            #expect(Array(line.name.utf8) == Array(name.utf8))
            #expect(line.url == "https://a.example/" + name)
            #expect(line.size == 12)
            #expect(FileIndex.Line(Array(line.json.utf8))?.json == line.json)
            for end in stride(from: 0, to: text.utf8.count, by: 7) where end < 60 {
                #expect(FileIndex.Line(Array(text.utf8.prefix(end))) == nil)
            }
        }
    }

    private func json(_ text: String) throws -> String {
        let array = try JSONEncoder().encode([text])
        return String(decoding: array.dropFirst().dropLast(), as: UTF8.self)
    }

    /// Comparing such keys as Unicode strings would take minutes.
    @Test(.timeLimit(.minutes(1))) func aListWithLongRunsOfCombiningMarksIsReadQuickly() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(.files)
            let marks = String(repeating: "\u{301}\u{316}", count: 30_000)
            let line = "{\"name\":\"a\",\"a\(marks)\":1,\"a\(marks)b\":2}"
            let text = "[\n" + Array(repeating: line, count: 50).joined(separator: ",\n") + "\n]\n"
            try scene.overwrite(scene.target + "/index.json", with: Array(text.utf8))
            #expect(try scene.export(.files).unchanged == 4)
        }
    }

    @Test func anIconInANewFormatReplacesTheOldFile() throws {
        try ExportScene.run { scene in
            let manifest = try ExportScene.manifest([("App", Self.urls[0])])
            try scene.store(ExportScene.icon(0), at: Self.urls[0])
            try scene.export(.files, manifest: manifest)
            let png = IconPainter.png(seed: 1, size: 16)
            try scene.store(png, at: Self.urls[0], mediaType: "image/png")
            let report = try scene.export(.files, manifest: manifest) { $0.isPruning = true }
            #expect(report.pruned == 1)
            #expect(Set(scene.files().keys) == ["App.png", "index.json"])
        }
    }

    @Test func thousandsOfEqualNamesGetDifferentFiles() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.urls[0])
            let cache = try Cache.create(at: scene.cachePath)
            let store = try cache.store()
            let body = try store.newBody { append in
                try ExportScene.icon(0).withUnsafeBytes(append)
            }
            let digest = try body.finish()
            let staged = try store.stage(body, digest: digest, attributes: .init())
            let urls = (0..<1500).map { "https://a.example/many/\($0)" }
            for url in urls {
                store.add(
                    Deposit(
                        key: url, url: url, receivedAt: Date(),
                        content: .staged(staged)),
                    for: nil
                ) {}
            }
            store.flush()
            store.close()
            cache.close()
            let manifest = try ExportScene.manifest(urls.map { ("App", $0) })
            let report = try scene.export(.files, manifest: manifest)
            #expect(report.icons == 1500 && report.failed == 0 && report.duplicates == 0)
            #expect(scene.files().count == 1501)
        }
    }

    // MARK: - Asset catalogs

    @Test func imageSetsHaveTheFormatOfXcode() throws {
        try ExportScene.run { scene in
            let catalog = scene.directory.path("Icons.xcassets")
            let png = IconPainter.png(seed: 1, size: 16)
            try scene.store(png, at: Self.urls[0], mediaType: "image/png")
            try scene.store(ExportScene.icon(1), at: Self.urls[1])
            try scene.store([1, 2], at: Self.urls[2], mediaType: "image/webp")
            let manifest = try ExportScene.manifest([
                ("Alpha", Self.urls[0]), ("Beta", Self.urls[1]), ("Gamma", Self.urls[2]),
            ])
            let report = try scene.export(.assetCatalog, manifest: manifest, to: catalog)
            #expect(report.problems.counts == [.unsupportedType: 1])
            let files = scene.files(in: catalog)
            #expect(
                Set(files.keys) == [
                    "Contents.json", "Alpha.imageset/Contents.json", "Alpha.imageset/Alpha.png",
                    "Beta.imageset/Contents.json", "Beta.imageset/Beta.svg",
                ])
            #expect(files["Alpha.imageset/Alpha.png"] == png)
            for (set, isVector) in [("Alpha", false), ("Beta", true)] {
                let contents = try #require(files["\(set).imageset/Contents.json"])
                let json = try #require(
                    try JSONSerialization.jsonObject(with: Data(contents)) as? [String: Any])
                let images = try #require(json["images"] as? [[String: String]])
                #expect(images.count == 1 && images[0]["idiom"] == "universal")
                #expect(files["\(set).imageset/\(images[0]["filename"] ?? "")"] != nil)
                let properties = json["properties"] as? [String: Bool]
                #expect(properties?["preserves-vector-representation"] == (isVector ? true : nil))
            }
            let before = scene.fileStates(in: catalog)
            try scene.export(.assetCatalog, manifest: manifest, to: catalog) {
                $0.isPruning = true
            }
            #expect(scene.fileStates(in: catalog) == before)
        }
    }

    /// The same catalog can contain sets made by designers.
    @Test func pruningKeepsForeignImageSets() throws {
        try ExportScene.run { scene in
            let catalog = scene.directory.path("Icons.xcassets")
            try scene.store(ExportScene.icon(0), at: Self.urls[0])
            let all = [("Alpha", Self.urls[0]), ("Beta", Self.urls[0])]
            try scene.export(
                .assetCatalog, manifest: try ExportScene.manifest(all), to: catalog)
            for set in ["Own", "Gamma"] {
                try FileManager.default.createDirectory(
                    atPath: "\(catalog)/\(set).imageset", withIntermediateDirectories: true)
                let own = #"{"info":{"author":"xcode","version":1},"images":[{"filename":"a"}]}"#
                try scene.overwrite(
                    "\(catalog)/\(set).imageset/Contents.json", with: Array(own.utf8))
            }
            // A foreign file in an exported set.
            try scene.overwrite("\(catalog)/Beta.imageset/notes.txt", with: [1])
            let some = [("Gamma", Self.urls[0])]
            let report = try scene.export(
                .assetCatalog, manifest: try ExportScene.manifest(some), to: catalog
            ) { $0.isPruning = true }
            #expect(report.problems.counts == [.obstructed: 1])
            #expect(report.pruned == 1)
            #expect(
                Set(scene.files(in: catalog).keys) == [
                    "Contents.json", "Own.imageset/Contents.json", "Gamma.imageset/Contents.json",
                    "Beta.imageset/Contents.json", "Beta.imageset/Beta.svg",
                    "Beta.imageset/notes.txt",
                ])
        }
    }

    @Test func anIconInANewFormatReplacesTheImageOfItsSet() throws {
        try ExportScene.run { scene in
            let catalog = scene.directory.path("Icons.xcassets")
            let manifest = try ExportScene.manifest([("App", Self.urls[0])])
            try scene.store(ExportScene.icon(0), at: Self.urls[0])
            try scene.export(.assetCatalog, manifest: manifest, to: catalog)
            let png = IconPainter.png(seed: 1, size: 16)
            try scene.store(png, at: Self.urls[0], mediaType: "image/png")
            try scene.export(.assetCatalog, manifest: manifest, to: catalog)
            #expect(
                Set(scene.files(in: catalog).keys)
                    == ["Contents.json", "App.imageset/Contents.json", "App.imageset/App.png"])
        }
    }
}
