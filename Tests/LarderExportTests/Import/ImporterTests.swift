import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderExport

/// Imports from the caches of other programs.
@Suite struct ImporterTests {
    private static let urls = (0..<5).map { "https://a.example/icons/\($0).svg?size=64" }
    private static let layouts = ExportLayout.allCases.filter(\.isImportable)

    private static func manifest(_ members: String = "") -> String {
        #"[{"icon": "\#(urls[0])"\#(members)}]"#
    }

    private static let nukeFile =
        "com.github.kean.Nuke.DataCache/"
        // printf %s 'https://a.example/icons/0.svg?size=64' | sha1sum
        + "a1a4af69618135eae64c4171188b2786be901598"

    /// Writes a file where a library would have it.
    private func put(_ bytes: [UInt8], _ name: String, _ scene: ExportScene) throws {
        let path = "\(scene.target)/\(name)"
        try FileManager.default.createDirectory(
            atPath: path.parent, withIntermediateDirectories: true)
        try scene.overwrite(path, with: bytes)
    }

    private func run(
        _ layout: ExportLayout, _ scene: ExportScene, manifest: String, into path: String? = nil,
        configure: (inout ImportConfiguration) -> Void = { _ in }
    ) throws -> ImportReport {
        var configuration = ImportConfiguration(layout: layout, directory: scene.target)
        configure(&configuration)
        let cache = try Cache.create(at: path ?? scene.cachePath)
        return try Importer(cache, configuration)
            .run([.bytes(Array(manifest.utf8), name: "test")])
    }

    @Test(arguments: layouts) func exportedIconsCanBeImportedAgain(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(layout)
            let manifest = try ExportScene.manifest(Self.urls.map { ("", $0) })
            let copy = scene.directory.path("copy")
            let before = scene.fileStates()
            let report = try run(layout, scene, manifest: manifest, into: copy)
            #expect(report.imported == 5, "\(report)")
            #expect(report.missing + report.present + report.failed == 0)
            #expect(scene.fileStates() == before)
            let (old, new) = (try Cache.open(at: scene.cachePath), try Cache.open(at: copy))
            for url in Self.urls {
                let resource = try #require(try new.resource(url))
                #expect(try resource.object.digest == old.resource(url)?.object.digest)
                #expect(resource.object.mediaType == "image/svg+xml")
                #expect(resource.object.width == 16)
                #expect(!resource.isFresh())
                #expect(resource.validators == Validators())
            }
            #expect(try new.verify().findings.isEmpty)
            // A second import has nothing to do.
            let again = try run(layout, scene, manifest: manifest, into: copy)
            #expect(again.present == 5 && again.imported == 0)
        }
    }

    /// Each file occupies no space on disk, but would occupy 15 MiB in the cache.
    @Test func sparseFilesShareABudget() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            try scene.export(.nuke)
            let folder = "\(scene.target)/com.github.kean.Nuke.DataCache"
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                let file = "\(folder)/\(name)"
                unlink(file)
                try Data().write(to: URL(fileURLWithPath: file))
                #expect(truncate(file, 15 << 20) == 0)
            }
            let manifest = try ExportScene.manifest(Self.urls.map { ("", $0) })
            let copy = scene.directory.path("copy")
            let report = try run(.nuke, scene, manifest: manifest, into: copy) {
                $0.acceptsAnyContent = true
            }
            #expect(report.imported == 4 && report.failed == 1, "\(report)")
            #expect(report.problems.failures.map(\.code) == [.unreadable])
        }
    }

    /// The names are the libraries' own test vectors. Other files are next to the icons, and the
    /// modification dates are in the future, as in Kingfisher's cache.
    @Test(arguments: [
        (
            ExportLayout.nuke, "https://example.com/image.png",
            "com.github.kean.Nuke.DataCache/01a7df95a5de36522e05107d2baaaafcfec0f578"
        ),
        (
            .sdwebimage, "https://example.com/icons/app-1024.png?v=2&size=120",
            "com.hackemist.SDImageCache/default/eba071ac37e74155ac010f863792299a.png"
        ),
        (
            .sdwebimage, "https://example.com/icons/app-1024.png?v=2&size=120",
            "com.hackemist.SDImageCache/default/eba071ac37e74155ac010f863792299a"
        ),
        (
            .kingfisher, "https://example.com/image.png",
            "com.onevcat.Kingfisher.ImageCache.default/"
                + "99a19c215d3db74ae82c36fa43878f88c5e63830dc30799320b01a4f5aa341e4"
        ),
        (
            .kingfisher7, "https://example.com/image.png",
            "com.onevcat.Kingfisher.ImageCache.default/d67540393d81c9e621cb2deed9d80816"
        ),
        (
            .coil, "https://example.com/image.png",
            "coil3_disk_cache/"
                + "99a19c215d3db74ae82c36fa43878f88c5e63830dc30799320b01a4f5aa341e4.1"
        ),
        (
            .coil2, "https://example.com/image.png",
            "image_cache/99a19c215d3db74ae82c36fa43878f88c5e63830dc30799320b01a4f5aa341e4.1"
        ),
        (
            .glide, "https://example.com/image.png",
            "image_manager_disk_cache/"
                + "99a19c215d3db74ae82c36fa43878f88c5e63830dc30799320b01a4f5aa341e4.0"
        ),
    ])
    func anAppsOwnCacheIsRead(
        _ layout: ExportLayout, _ url: String, _ name: String
    ) throws {
        try ExportScene.run { scene in
            try put(IconPainter.png(seed: 3, size: 16), name, scene)
            try put([1, 2, 3], name + ".nomedia", scene)
            // Coil 2 stores no status. Its first line is the time of the request.
            if [.coil, .coil2].contains(layout) {
                let head = layout == .coil ? "200\n1\n2\n0\n" : "1753000000404\n1\n1\n0\n"
                try put(Array(head.utf8), name.dropLast(2) + ".0", scene)
            }
            let times = [
                timeval(tv_sec: 0, tv_usec: 0), timeval(tv_sec: 4_000_000_000, tv_usec: 0),
            ]
            utimes("\(scene.target)/\(name)", times)
            let manifest = try ExportScene.manifest([
                ("App", url), ("Other", "https://example.com/other.png"),
            ])
            let report = try run(layout, scene, manifest: manifest)
            #expect(report.imported == 1 && report.missing == 1, "\(report)")
            let cache = try Cache.open(at: scene.cachePath)
            let resource = try #require(try cache.resource(url))
            #expect(try cache.bytes(of: resource.object) == IconPainter.png(seed: 3, size: 16))
            #expect(resource.receivedAt <= Date() && !resource.isFresh())
        }
    }

    // MARK: - Existing icons

    @Test func iconsInTheCacheAreKept() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.urls[0])
            try put(ExportScene.icon(1), Self.nukeFile, scene)
            #expect(try run(.nuke, scene, manifest: Self.manifest()).present == 1)
            let cache = try Cache.open(at: scene.cachePath)
            #expect(try cache.resource(Self.urls[0])?.object.digest == digest)
            cache.close()
            // It is replaced if its file is gone or if the manifest requires other bytes.
            unlink(scene.objectPath(digest))
            #expect(try run(.nuke, scene, manifest: Self.manifest()).imported == 1)
            let other = try #require(try Digest.of(ExportScene.icon(2)))
            try put(ExportScene.icon(2), Self.nukeFile, scene)
            let demand = Self.manifest(#", "sha256": "\#(other.hex)""#)
            #expect(try run(.nuke, scene, manifest: demand).imported == 1)
        }
    }

    /// An app that embeds the cache looks icons up by the URL in the manifest.
    @Test func importedIconsAreFoundBySpellingAndKey() throws {
        try ExportScene.run { scene in
            let spelled = "https://A.example/x/../b.svg"
            let folder = "com.github.kean.Nuke.DataCache"
            try put(ExportScene.icon(0), "\(folder)/\(spelled.sha1Hex)", scene)
            let signed = "https://a.example/c.svg?sig=1"
            try put(ExportScene.icon(1), "\(folder)/\(signed.sha1Hex)", scene)
            let manifest = #"[{"icon": "\#(spelled)"}, {"icon": "\#(signed)", "key": "c"}]"#
            #expect(try run(.nuke, scene, manifest: manifest).imported == 2)
            let cache = try Cache.open(at: scene.cachePath)
            #expect(try cache.resource(spelledAs: spelled)?.key == "https://a.example/b.svg")
            #expect(try cache.resource("key:c")?.url == signed)
            #expect(try cache.resource(signed) == nil)
        }
    }

    @Test func manyIconsAndDuplicatesAreCountedCorrectly() throws {
        try ExportScene.run { scene in
            let urls = (0..<1203).map { "https://a.example/\($0)" }
            for (seed, url) in urls.enumerated() where seed % 3 != 0 {
                try put(
                    ExportScene.icon(seed % 7),
                    "com.github.kean.Nuke.DataCache/\(url.sha1Hex)", scene)
            }
            let manifest = try ExportScene.manifest(
                (urls + [urls[1], urls[1202]]).map { ("", $0) })
            let report = try run(.nuke, scene, manifest: manifest)
            #expect(report.imported == 802 && report.missing == 401 && report.present == 2)
            #expect(report.icons == 1205)
        }
    }

    // MARK: - Refused files

    @Test func onlyCompleteImagesThatMatchTheManifestAreImported() throws {
        try ExportScene.run { scene in
            func problems(
                _ bytes: [UInt8], _ members: String = "",
                configure: (inout ImportConfiguration) -> Void = { _ in }
            ) throws -> [ImportCode: Int] {
                try put(bytes, Self.nukeFile, scene)
                return try run(
                    .nuke, scene, manifest: Self.manifest(members), configure: configure
                ).problems.counts
            }
            let png = IconPainter.png(seed: 1, size: 16)
            // The closure is inferred as throwing only from a `try` outside of macros.
            _ = try Cache.create(at: scene.cachePath)
            #expect(try problems([]) == [.notAnImage: 1])
            #expect(try problems(Array("<html>404</html>".utf8)) == [.notAnImage: 1])
            #expect(try problems(Array(png.dropLast(20))) == [.notAnImage: 1])
            #expect(try problems(png, #", "size": 1"#) == [.sizeMismatch: 1])
            let zeros = String(repeating: "0", count: 64)
            #expect(try problems(png, #", "sha256": "\#(zeros)""#) == [.integrityMismatch: 1])
            let limit = Int64(png.count)
            #expect(try problems(png) { $0.maximumBytes = limit - 1 } == [.tooLarge: 1])
            #expect(try Cache.open(at: scene.cachePath).resource(Self.urls[0]) == nil)
            #expect(try problems(png) { $0.maximumBytes = limit } == [:])
            #expect(try Cache.open(at: scene.cachePath).resource(Self.urls[0]) != nil)
        }
    }

    @Test func otherContentIsImportedOnlyOnRequest() throws {
        try ExportScene.run { scene in
            try put([1, 2, 3], Self.nukeFile, scene)
            let report = try run(.nuke, scene, manifest: Self.manifest()) {
                $0.acceptsAnyContent = true
            }
            #expect(report.imported == 1)
            let cache = try Cache.open(at: scene.cachePath)
            #expect(try cache.resource(Self.urls[0])?.object.mediaType == nil)
        }
    }

    @Test func linksPipesAndDirectoriesAreNotImported() throws {
        try ExportScene.run { scene in
            let place = "\(scene.target)/\(Self.nukeFile)"
            let secret = scene.directory.path("secret.svg")
            try scene.overwrite(secret, with: ExportScene.icon(0))
            try put([], Self.nukeFile, scene)
            unlink(place)
            symlink(secret, place)
            #expect(
                try run(.nuke, scene, manifest: Self.manifest()).problems.counts == [.notAFile: 1])
            unlink(place)
            #expect(mkfifo(place, 0o600) == 0)
            #expect(
                try run(.nuke, scene, manifest: Self.manifest()).problems.counts == [.notAFile: 1])
            unlink(place)
            #expect(mkdir(place, 0o700) == 0)
            #expect(
                try run(.nuke, scene, manifest: Self.manifest()).problems.counts == [.notAFile: 1])
            // The library's own directory may not be a link either.
            try FileManager.default.removeTree(atPath: scene.target)
            #expect(mkdir(scene.target, 0o700) == 0)
            symlink(scene.directory.path, "\(scene.target)/com.github.kean.Nuke.DataCache")
            let error = #expect(throws: CacheError.self) {
                try run(.nuke, scene, manifest: Self.manifest())
            }
            #expect(error?.code == .missing)
        }
    }

    @Test func aChangedFileOfAListIsNotImported() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.urls[0])
            let manifest = Self.manifest(#", "name": "App""#)
            try scene.export(.files, manifest: manifest)
            try scene.overwrite(scene.target + "/App.svg", with: ExportScene.icon(1))
            let copy = scene.directory.path("copy")
            let report = try run(.files, scene, manifest: manifest, into: copy)
            #expect(report.problems.counts == [.integrityMismatch: 1])
            unlink(scene.target + "/index.json")
            let error = #expect(throws: CacheError.self) {
                try run(.files, scene, manifest: manifest, into: copy)
            }
            #expect(error?.code == .missing)
        }
    }

    @Test func badEntriesAndEmbeddedIconsAreCountedAsProblems() throws {
        try ExportScene.run { scene in
            try put(ExportScene.icon(0), Self.nukeFile, scene)
            let manifest = """
                [{"icon": "https://"}, {"icon": ""}, {"icon": "\(Self.urls[0])"}, {"icon": "mdi:a"},
                 {"icon": "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E"}]
                """
            let report = try run(.nuke, scene, manifest: manifest)
            #expect(report.problems.counts == [.badEntry: 1, .noIcon: 1, .noURL: 2])
            #expect(report.imported == 1 && report.icons == 5)
        }
    }

    @Test func anInterruptedImportKeepsFinishedPages() throws {
        try ExportScene.run { scene in
            let urls = (0..<600).map { "https://a.example/\($0)" }
            for url in urls {
                let name = "com.github.kean.Nuke.DataCache/\(url.sha1Hex)"
                try put(ExportScene.icon(0), name, scene)
            }
            var seen = 0
            let report = try Importer(
                try Cache.create(at: scene.cachePath),
                ImportConfiguration(layout: .nuke, directory: scene.target),
                isCancelled: { seen >= 550 }, onProgress: { seen = $0.objects }
            ).run([
                .bytes(Array(try ExportScene.manifest(urls.map { ("", $0) }).utf8), name: "test")
            ])
            #expect(report.isInterrupted && report.imported == 500)
        }
    }
}

extension String {
    fileprivate var parent: String {
        URL(fileURLWithPath: self).deletingLastPathComponent().path
    }
}
