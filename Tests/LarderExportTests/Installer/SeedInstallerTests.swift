import Foundation
import LarderCache
import LarderKit
import LarderTestSupport
import Testing

@testable import LarderExport

/// The source file for an app compiles, and does what the library needs.
@Suite struct SeedInstallerTests {
    private static let urls = (0..<3).map { "https://a.example/icons/\($0).svg" }

    /// A directory's name that needs escapes in Swift.
    private func export(
        _ layout: ExportLayout, _ scene: ExportScene
    ) throws -> (seed: String, report: ExportReport) {
        try scene.store(urls: Self.urls)
        let seed = scene.directory.path("Seed \"a\\b\" ü")
        return (seed, try scene.export(layout, to: seed))
    }

    private func compiler(_ arguments: [String]) throws -> Finished {
        try RunningProcess(
            "/usr/bin/env", ["swiftc", "-swift-version", "6", "-warnings-as-errors"] + arguments,
            environment: ProcessInfo.processInfo.environment
        ).wait()
    }

    @Test(arguments: [ExportLayout.coil, .glide, .files, .assetCatalog])
    func othersHaveNone(_ layout: ExportLayout) throws {
        let report = ExportReport(layout: layout, directory: "/seed")
        #expect(SeedInstaller(report, directory: "/seed") == nil)
    }

    /// Compiled by Swift 6, and run: it copies, stamps, does so once, and again with another seed.
    @Test(arguments: [ExportLayout.nuke, .sdwebimage, .kingfisher])
    func itPutsTheSeedWhereTheLibraryLooks(_ layout: ExportLayout) throws {
        try ExportScene.run { scene in
            let (seed, report) = try export(layout, scene)
            // As a way into a bundle may leave them: old, and read-only.
            let folder = String(report.directory.dropFirst(seed.utf16.count + 1))
            for name in scene.files(in: seed).keys {
                let old = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
                utimes("\(seed)/\(name)", old)
            }
            let installer = try #require(SeedInstaller(report, directory: seed))
            let program = scene.directory.path("program")
            try scene.overwrite(
                scene.directory.path("LarderSeed.swift"), with: Array(installer.source.utf8))
            let main = """
                import Foundation
                let words = CommandLine.arguments.map { URL(fileURLWithPath: $0) }
                print(try LarderSeed.install(from: words[1], into: words[2]))
                """
            try scene.overwrite(scene.directory.path("main.swift"), with: Array(main.utf8))
            let compiled = try compiler([
                scene.directory.path("LarderSeed.swift"), scene.directory.path("main.swift"),
                "-o", program,
            ])
            try #require(compiled.status == 0, "\(compiled)")

            let caches = scene.directory.path("Library Caches")
            try FileManager.default.createDirectory(
                atPath: caches, withIntermediateDirectories: true)
            func install() throws -> String {
                let finished = try RunningProcess(program, [seed, caches], environment: [:]).wait()
                #expect(finished.status == 0, "\(finished)")
                return finished.standardOutput
            }
            let now = time(nil)
            #expect(try install() == "3\n")
            let installed = scene.files(in: "\(caches)/\(folder)")
            #expect(installed == scene.files(in: report.directory))
            for name in installed.keys {
                let status = try scene.status(name, in: "\(caches)/\(folder)")
                #expect(status.st_mode & 0o200 != 0)
                if layout == .kingfisher {
                    #expect(status.st_mtim.tv_sec > now + 9 * 365 * 86_400)
                } else {
                    #expect(status.st_mtim.tv_sec >= now && status.st_atim.tv_sec >= now)
                }
            }
            // Once: what the library has removed since stays away.
            let one = try #require(installed.keys.first)
            unlink("\(caches)/\(folder)/\(one)")
            #expect(try install() == "0\n")
            // But not where the system has emptied the directory.
            unlink("\(caches)/.larder-seed-\(layout.rawValue)")
            #expect(try install() == "1\n")
        }
    }

    @Test func anotherSeedHasAnotherFingerprint() throws {
        try ExportScene.run { scene in
            let first = try export(.nuke, scene).report.fingerprint
            #expect(try scene.export(.nuke).fingerprint == first)
            try scene.store(ExportScene.icon(9), at: Self.urls[0])
            let second = try scene.export(.nuke)
            #expect(second.fingerprint != first)
            let source = try #require(SeedInstaller(second, directory: "Seed")?.source)
            #expect(source.contains(second.fingerprint.hex))
            #expect(source.contains("appendingPathComponent(\"Seed\")"))
        }
    }
}
