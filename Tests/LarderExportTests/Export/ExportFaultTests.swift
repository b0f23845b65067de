import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderExport

/// Exports with damaged objects, hostile directories and obstacles.
@Suite struct ExportFaultTests {
    private static let url = "https://a.example/a.svg"
    private static let folder = "com.github.kean.Nuke.DataCache"
    private static var name: String { "\(folder)/\(url.sha1Hex)" }

    private static func manifest(_ members: String = "") -> String {
        #"[{"icon": "\#(url)"\#(members)}]"#
    }

    /// The file was intact when it was exported.
    @Test(arguments: [ExportLayout.nuke, .kingfisher, .files, .coil])
    func aDamagedObjectFailsAndItsExportedFileStays(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            try scene.export(layout)
            let before = scene.files()
            let second = try scene.store(ExportScene.icon(1), at: Self.url)
            var damaged = ExportScene.icon(1)
            damaged[damaged.count / 2] ^= 1
            try scene.overwrite(scene.objectPath(second), with: damaged)
            let report = try scene.export(layout) { $0.isPruning = true }
            #expect(report.problems.counts == [.corrupt: 1])
            #expect(report.problems.failures.map(\.url) == [Self.url])
            #expect(report.pruned == 0)
            #expect(scene.files() == before)
        }
    }

    /// The exported file is a hard link to the damaged object.
    @Test func damageInAHardLinkedExportIsFound() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.url)
            guard try scene.export(.nuke).linked == 1 else { return }
            let object = scene.objectPath(digest)
            chmod(object, 0o644)
            let file = try #require(FileHandle(forWritingAtPath: object))
            try file.write(contentsOf: Data([0]))
            try file.close()
            #expect(try scene.export(.nuke).problems.counts == [.corrupt: 1])
        }
    }

    @Test func aLostObjectAndAnUnknownURLAreProblems() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.url)
            unlink(scene.objectPath(digest))
            #expect(try scene.export(.nuke).problems.counts == [.corrupt: 1])
            let other = try ExportScene.manifest([("", "https://a.example/other.svg")])
            let report = try scene.export(.nuke, manifest: other)
            #expect(report.problems.counts == [.missing: 1])
            #expect(report.problems.failures[0].message.contains("a prefetch downloads"))
        }
    }

    @Test func anExportChecksDigestsAndSizesOfTheManifest() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: Self.url)
            let size = ExportScene.icon(0).count
            func problems(_ members: String) throws -> [ExportCode: Int] {
                try scene.export(.nuke, manifest: Self.manifest(members)).problems.counts
            }
            let other = String(repeating: "0", count: 64)
            #expect(try problems(#", "sha256": "\#(other)""#) == [.integrityMismatch: 1])
            #expect(try problems(#", "size": \#(size + 1)"#) == [.sizeMismatch: 1])
            #expect(scene.files().isEmpty)
            #expect(try problems(#", "sha256": "\#(digest.hex)", "size": \#(size)"#) == [:])
            #expect(scene.files().count == 1)
        }
    }

    @Test func badEntriesAreReportedAndTheOthersExported() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let manifest =
                #"[{"name": "Bad", "icon": "https://"}, {"icon": "\#(Self.url)"}]"#
            let report = try scene.export(.nuke, manifest: manifest)
            #expect(report.problems.counts == [.badEntry: 1])
            #expect(report.problems.failures.map(\.name) == ["Bad"])
            #expect(report.icons == 2 && scene.files().count == 1)
        }
    }

    // MARK: - The target directory

    @Test func symbolicLinksInTheTargetAreNotFollowed() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let elsewhere = scene.directory.path("elsewhere")
            try FileManager.default.createDirectory(
                atPath: elsewhere, withIntermediateDirectories: true)
            try FileManager.default.createDirectory(
                atPath: scene.target, withIntermediateDirectories: true)
            symlink(elsewhere, "\(scene.target)/\(Self.folder)")
            let error = #expect(throws: CacheError.self) { try scene.export(.nuke) }
            #expect(error?.code == .unusable)
            #expect(scene.files(in: elsewhere).isEmpty)
            // A link in place of a file is replaced. Its target is not changed.
            unlink("\(scene.target)/\(Self.folder)")
            let victim = scene.directory.path("victim")
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: victim))
            try scene.export(.nuke)
            unlink("\(scene.target)/\(Self.name)")
            symlink(victim, "\(scene.target)/\(Self.name)")
            #expect(try scene.export(.nuke).failed == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Data([1, 2, 3]))
            #expect(try scene.status(Self.name).st_mode & S_IFMT == S_IFREG)
        }
    }

    @Test func theTargetAndTheCacheMayNotContainEachOther() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            for (layout, path) in [
                (ExportLayout.nuke, scene.cachePath), (.nuke, scene.cachePath + "/tmp"),
                (.files, scene.cachePath + "/objects/new"), (.files, scene.directory.path),
            ] {
                let error = #expect(throws: CacheError.self) {
                    try scene.export(layout, to: path)
                }
                #expect(error?.code == .unusable, "\(path)")
                // The export creates no directory.
                let isThere = FileManager.default.fileExists(atPath: path)
                #expect(isThere == !path.hasSuffix("/new"))
            }
            // The cache may be next to the layout's own directory.
            #expect(try scene.export(.nuke, to: scene.directory.path).failed == 0)
        }
    }

    @Test func aDirectoryInPlaceOfAFileIsKept() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            try scene.store(ExportScene.icon(1), at: "https://a.example/b.svg")
            let place = "\(scene.target)/\(Self.name)"
            try FileManager.default.createDirectory(
                atPath: place, withIntermediateDirectories: true)
            let report = try scene.export(.nuke) { $0.isPruning = true }
            #expect(report.problems.counts == [.obstructed: 1])
            #expect(report.linked + report.cloned + report.copied == 1)
            #expect(FileManager.default.fileExists(atPath: place))
        }
    }

    @Test func anExportDoesNotBlockOnNamedPipes() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let folder = try scene.export(.coil).directory
            let name = Self.url.sha256Hex
            for file in ["\(name).1", "\(name).0", "journal"] {
                unlink("\(folder)/\(file)")
                #expect(mkfifo("\(folder)/\(file)", 0o600) == 0)
            }
            #expect(try scene.export(.coil).failed == 0)
            let journal = try DiskLruJournal(at: folder, appVersion: 3, valueCount: 2)
            #expect(journal.entries.count == 1)
        }
    }

    @Test func twoExportsToOneDirectoryExcludeEachOther() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            let folder = try scene.export(.nuke).directory
            let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            let error = #expect(throws: CacheError.self) { try scene.export(.nuke) }
            #expect(error?.code == .locked)
        }
    }

    @Test func anInterruptedExportKeepsFinishedFiles() throws {
        try ExportScene.run { scene in
            try scene.store(urls: (0..<5).map { "https://a.example/\($0).svg" })
            var done = 0
            let report = try Exporter(
                try Cache.open(at: scene.cachePath),
                ExportConfiguration(layout: .coil, directory: scene.target),
                isCancelled: { done >= 2 }, onProgress: { done = $0.objects }
            ).export(nil)
            #expect(report.isInterrupted)
            #expect(report.unfinished == 3)
            #expect(scene.files().keys.filter { $0.hasSuffix(".1") }.count == 2)
            #expect(scene.files()["coil3_disk_cache/journal"] == nil)
            #expect(!scene.files().keys.contains { $0.contains("partial") })
            #expect(try scene.export(.coil).unchanged == 2)
        }
    }

    @Test func verifyAndEvictAcceptHardLinkedObjects() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: Self.url)
            try scene.export(.nuke)
            let cache = try Cache.open(at: scene.cachePath)
            let report = try cache.verify()
            #expect(report.findings.isEmpty && report.whole == 1)
            cache.close()
            var policy = EvictionPolicy()
            policy.maximumObjects = 0
            policy.grace = 0
            let writable = try Cache.create(at: scene.cachePath)
            let evicted = try writable.evict(policy)
            #expect(evicted.total.count == 1)
            #expect(evicted.total.bytes == Int64(ExportScene.icon(0).count))
            #expect(scene.files()[Self.name] == ExportScene.icon(0))
        }
    }
}
