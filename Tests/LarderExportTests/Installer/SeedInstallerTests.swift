import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderExport

/// The generated installer, compiled with Swift 6 and run.
@Suite struct SeedInstallerTests {
    private static let urls = (0..<3).map { "https://a.example/icons/\($0).svg" }
    /// SDWebImage appends this extension to the file name.
    private static let odd = "https://a.example/icons/odd.s%0Av%0D%0A%20g%25%C3%A9"
    /// A URL that the second seed lacks.
    private static let rare = "https://a.example/icons/rare.svg"

    /// Exports to a directory whose name needs escapes in Swift source code.
    private func export(
        _ layout: ExportLayout, _ scene: ExportScene, stores: Bool = true
    ) throws -> (seed: String, report: ExportReport) {
        if stores { try scene.store(urls: Self.urls) }
        let seed = scene.directory.path("Seed \"a\\b\" ü")
        return (seed, try scene.export(layout, to: seed))
    }

    private func compiler(_ arguments: [String]) throws -> Finished {
        try RunningProcess(
            "/usr/bin/env", ["swiftc", "-swift-version", "6", "-warnings-as-errors"] + arguments,
            environment: ProcessInfo.processInfo.environment
        ).wait()
    }

    /// Compiles the installer with a program that calls it.
    private func program(
        _ report: ExportReport, _ seed: String, _ scene: ExportScene, folder: String? = nil
    ) throws -> String {
        let source = try #require(
            try SeedInstaller(report, directory: seed, folder: folder)?.source)
        let type = try #require(source.firstMatch(of: /\nenum (Larder[A-Za-z]+Seed) {/)?.1)
        let folder = scene.directory.path("program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try scene.overwrite("\(folder)/\(type).swift", with: Array(source.utf8))
        let main = """
            import Foundation
            let words = CommandLine.arguments.map { URL(fileURLWithPath: $0) }
            let (copied, failed) = try \(type).install(from: words[1], into: words[2])
            print(copied, failed)
            // An app's call.
            func start() throws { try \(type).install() }
            """
        try scene.overwrite("\(folder)/main.swift", with: Array(main.utf8))
        let compiled = try compiler(
            ["\(folder)/\(type).swift", "\(folder)/main.swift", "-o", "\(folder)/program"])
        try #require(compiled.status == 0, "\(compiled)")
        return "\(folder)/program"
    }

    private func run(_ program: String, _ seed: String, _ caches: String) throws -> String {
        let finished = try RunningProcess(program, [seed, caches], environment: [:]).wait()
        #expect(finished.status == 0, "\(finished)")
        return finished.standardOutput.trimmingCharacters(in: .newlines)
    }

    @Test(arguments: ExportLayout.allCases.filter { !$0.hasInstaller })
    func layoutsOfOtherProgramsHaveNoInstaller(_ layout: ExportLayout) throws {
        let report = ExportReport(layout: layout, directory: "/seed")
        #expect(try SeedInstaller(report, directory: "/seed") == nil)
    }

    @Test(arguments: [ExportLayout.nuke, .sdwebimage, .kingfisher])
    func theInstallerCopiesTheSeedWhereTheLibraryLooks(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            let (seed, report) = try export(layout, scene)
            // Bundling can change the dates of files.
            let folder = String(report.directory.dropFirst(seed.utf16.count + 1))
            for name in scene.files(in: seed).keys {
                let old = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
                utimes("\(seed)/\(name)", old)
            }
            // A subdirectory is not an icon.
            mkdir("\(seed)/\(folder)/directory", 0o755)
            let program = try program(report, seed, scene)
            let caches = scene.directory.path("Library Caches")
            let target = "\(caches)/\(folder)"
            let now = time(nil)
            #expect(try run(program, seed, caches) == "3 0")
            var installed = scene.files(in: target)
            #expect(installed.removeValue(forKey: ".larder-seed") != nil)
            #expect(installed == scene.files(in: report.directory))
            for name in installed.keys {
                let status = try scene.status(name, in: target)
                #expect(status.st_mode & 0o200 != 0)
                #expect(status.st_atim.tv_sec >= now)
                if layout == .nuke {
                    #expect(status.st_mtim.tv_sec >= now)
                } else {
                    #expect(status.st_mtim.tv_sec > now + 9 * 365 * 86_400)
                }
            }
            // Icons that the library has removed are not installed again.
            unlink("\(target)/\(try #require(installed.keys.first))")
            #expect(try run(program, seed, caches) == "0 0")
            // All icons are installed again if the system has removed the directory.
            try FileManager.default.removeTree(atPath: target)
            #expect(try run(program, seed, caches) == "3 0")
        }
    }

    @Test(arguments: [ExportLayout.nuke, .sdwebimage, .kingfisher])
    func aNewSeedReplacesOldIconsAndKeepsLoadedOnes(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(3), at: Self.odd)
            try scene.store(ExportScene.icon(4), at: Self.rare)
            let (first, report) = try export(layout, scene)
            let folder = String(report.directory.dropFirst(first.utf16.count + 1))
            let caches = scene.directory.path("Library Caches")
            let target = "\(caches)/\(folder)"
            #expect(try run(try program(report, first, scene), first, caches) == "5 0")
            let urls = Self.urls + [Self.odd, Self.rare]
            let files = urls.map { url in
                layout.library.map {
                    "\(target)/\($0.file($0.stem(of: url)))"
                }
            }.compactMap(\.self)
            func bytes(_ index: Int) throws -> [UInt8] {
                Array(try Data(contentsOf: URL(fileURLWithPath: files[index])))
            }
            // The app has used icon 0, which changes a date, and downloaded icon 1 again.
            utimes(files[0], nil)
            if layout == .kingfisher {
                let later = timeval(tv_sec: time(nil) + 1000, tv_usec: 0)
                utimes(files[0], [later, later])
            }
            try Data(ExportScene.icon(50)).write(to: URL(fileURLWithPath: files[1]))
            if layout == .kingfisher {
                let later = timeval(tv_sec: time(nil) + 1000, tv_usec: 0)
                utimes(files[1], [later, later])
            }
            // Icon 2 cannot be replaced.
            unlink(files[2])
            mkdir(files[2], 0o755)
            try scene.overwrite(files[2] + "/in-it", with: [1])
            for (seed, url) in urls.enumerated() {
                try scene.store(ExportScene.icon(20 + seed), at: url)
            }
            let second = scene.directory.path("Second")
            let manifest = try ExportScene.manifest(urls.dropLast().map { ("", $0) })
            let installer = try program(
                try scene.export(layout, manifest: manifest, to: second), second, scene)
            #expect(try run(installer, second, caches) == "2 1")
            #expect(try bytes(0) == ExportScene.icon(20))
            #expect(try bytes(1) == ExportScene.icon(50))
            #expect(try bytes(3) == ExportScene.icon(23))
            // The next launch tries icon 2 again.
            try FileManager.default.removeTree(atPath: files[2])
            #expect(try run(installer, second, caches) == "1 0")
            #expect(try bytes(2) == ExportScene.icon(22))
            #expect(try bytes(1) == ExportScene.icon(50))
            #expect(try run(installer, second, caches) == "0 0")
            // The third seed replaces an icon that the second seed lacked.
            #expect(try bytes(4) == ExportScene.icon(4))
            let third = scene.directory.path("Third")
            let last = try program(try scene.export(layout, to: third), third, scene)
            #expect(try run(last, third, caches) == "1 0")
            #expect(try bytes(4) == ExportScene.icon(24))
            #expect(try bytes(1) == ExportScene.icon(50))
        }
    }

    /// Icons replaced by a killed installer must not be mistaken for icons that the app loaded.
    @Test func theNextSeedReplacesIconsOfAKilledInstaller() throws {
        try ExportScene.run { scene in
            let (first, report) = try export(.nuke, scene)
            let folder = String(report.directory.dropFirst(first.utf16.count + 1))
            let caches = scene.directory.path("Library Caches")
            #expect(try run(try program(report, first, scene), first, caches) == "3 0")
            for (seed, url) in Self.urls.enumerated() {
                try scene.store(ExportScene.icon(20 + seed), at: url)
            }
            let second = scene.directory.path("Second")
            let report2 = try scene.export(.nuke, to: second) { $0.copiesAll = true }
            // This file exceeds the size limit of files, which kills the program.
            let large = try #require(
                try FileManager.default.contentsOfDirectory(atPath: report2.directory).last)
            chmod("\(report2.directory)/\(large)", 0o644)
            try Data(count: 4 << 20)
                .write(to: URL(fileURLWithPath: "\(report2.directory)/\(large)"))
            let killed = try RunningProcess(
                "/bin/sh",
                [
                    "-c", #"ulimit -c 0; ulimit -f 1024; exec "$0" "$@""#,
                    try program(report2, second, scene), second, caches,
                ], environment: [:]
            ).wait()
            #expect(killed.status != 0 && killed.standardOutput.isEmpty, "\(killed)")
            let left = scene.files(in: "\(caches)/\(folder)")
            let replaced = scene.files(in: report2.directory).filter { left[$0.key] == $0.value }
            #expect(replaced.count == 2 && replaced[large] == nil)
            for (seed, url) in Self.urls.enumerated() {
                try scene.store(ExportScene.icon(30 + seed), at: url)
            }
            let third = scene.directory.path("Third")
            let report3 = try scene.export(.nuke, to: third)
            #expect(try run(try program(report3, third, scene), third, caches) == "3 0")
            var installed = scene.files(in: "\(caches)/\(folder)")
            installed[".larder-seed"] = nil
            #expect(installed == scene.files(in: report3.directory))
        }
    }

    @Test func theInstallerSupportsTheAppsOwnFolder() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            let (seed, folder) = (scene.directory.path("Seed"), "My \"icons\"")
            let report = try scene.export(.sdwebimage, to: seed) { $0.folder = folder }
            let program = try program(report, seed, scene, folder: folder)
            let caches = scene.directory.path("Caches")
            #expect(try run(program, seed, caches) == "3 0")
            var installed = scene.files(in: "\(caches)/com.hackemist.SDImageCache/\(folder)")
            installed[".larder-seed"] = nil
            #expect(installed == scene.files(in: report.directory) && installed.count == 3)
        }
    }

    /// Kingfisher would download an expired icon again.
    @Test func theInstallerReplacesAnExpiredFile() throws {
        try ExportScene.run { scene in
            let (seed, report) = try export(.kingfisher, scene)
            let folder = String(report.directory.dropFirst(seed.utf16.count + 1))
            let target = "\(scene.directory.path("Caches"))/\(folder)"
            try FileManager.default.createDirectory(
                atPath: target, withIntermediateDirectories: true)
            let file = "\(target)/\(Self.urls[0].sha256Hex)"
            try scene.overwrite(file, with: ExportScene.icon(50))
            let old = timeval(tv_sec: 1000, tv_usec: 0)
            utimes(file, [old, old])
            let program = try program(report, seed, scene)
            #expect(try run(program, seed, scene.directory.path("Caches")) == "3 0")
            #expect(Array(try Data(contentsOf: URL(fileURLWithPath: file))) == ExportScene.icon(0))
        }
    }

    /// An app can use several libraries.
    @Test func installersOfSeveralLayoutsCompileTogether() throws {
        try ExportScene.run { scene in
            try scene.store(urls: Self.urls)
            var sources: [String] = []
            for layout in [ExportLayout.nuke, .sdwebimage, .kingfisher] {
                let report = try scene.export(layout)
                let source = try #require(try SeedInstaller(report, directory: "Seed")?.source)
                sources.append(scene.directory.path("\(layout.rawValue).swift"))
                try scene.overwrite(sources[sources.count - 1], with: Array(source.utf8))
            }
            let compiled = try compiler(["-typecheck", "-parse-as-library"] + sources)
            #expect(compiled.status == 0, "\(compiled)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func aSparseFileInTheSeedIsNotReadToItsEnd() throws {
        try ExportScene.run { scene in
            let (seed, report) = try export(.nuke, scene)
            let name = String(repeating: "a", count: 40)
            try scene.overwrite("\(report.directory)/\(name)", with: [])
            #expect(truncate("\(report.directory)/\(name)", 1 << 41) == 0)
            let error = #expect(throws: CacheError.self) {
                try SeedInstaller(report, directory: seed)
            }
            #expect(error?.code == .unusable && error?.subject.hasSuffix(name) == true)
        }
    }

    @Test func theFingerprintDependsOnTheInstalledFiles() throws {
        try ExportScene.run { scene in
            func fingerprint(_ report: ExportReport) throws -> Substring {
                let source = try #require(try SeedInstaller(report, directory: "Seed")?.source)
                #expect(source.contains("appendingPathComponent(\"Seed\")"))
                return try #require(source.firstMatch(of: /fingerprint = "([0-9a-f]{64})"/)?.1)
            }
            let first = try fingerprint(try export(.nuke, scene).report)
            #expect(try fingerprint(try export(.nuke, scene).report) == first)
            let url = Self.urls[0]
            try scene.store(ExportScene.icon(9), at: url)
            let seed = try export(.nuke, scene, stores: false)
            let second = try fingerprint(seed.report)
            #expect(second != first)
            // The fingerprint includes files that an earlier export left.
            let manifest = try ExportScene.manifest([("", url)])
            let left = try scene.export(.nuke, manifest: manifest, to: seed.seed)
            #expect(try fingerprint(left) == second)
            let pruned = try scene.export(.nuke, manifest: manifest, to: seed.seed) {
                $0.isPruning = true
            }
            #expect(try fingerprint(pruned) != second)
        }
    }
}
