import Foundation
import LarderExport
import LarderTestSupport
import Testing

/// The output of `export` and `import`, compared with `docs/output.md`.
@Suite struct ExportOutputTests {
    private let document: OutputDocument

    init() throws { document = try OutputDocument() }

    @Test func exportOutputMatchesTheDocumentation() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls[0])).status == 0)
            let manifest = try larder.manifest(
                [["icon": urls[0]], ["icon": urls[1]], ["icon": "https://"], [:]],
                name: "some.json")
            let seed = larder.directory.path("seed")
            let arguments = [seed, "--layout", "nuke", "--manifest", manifest, "--json"]
            let finished = try larder.run(arguments: ["export"] + arguments)
            #expect(finished.status == 2)
            let reports = try JSONValue.lines(finished.standardOutputBytes)
            try document.compare(reports, with: "export --json")
            let failures = reports.flatMap { $0["failures"]?.array ?? [] }.compactMap(\.object)
            try document.compare(failures, with: "Failed exports and imports")
            let reasons = try document.table("Export reasons", "reason")
            #expect(reasons.words == ExportCode.allCases.map(\.rawValue))
            for code in ExportCode.allCases {
                #expect(reasons.notes[code.rawValue] == (code.isSkip ? "skipped" : nil))
            }
            let report = try #require(reports.first)
            let counts = [
                "linked", "cloned", "copied", "unchanged", "duplicates", "skipped", "failed",
                "unfinished",
            ]
            let sum = counts.reduce(0) { $0 + (report[$1]?.integer ?? 0) }
            #expect(report["icons"] == .integer(sum))
        }
    }

    @Test func importOutputMatchesTheDocumentation() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let seed = larder.directory.path("seed")
            #expect(try larder.run("export", seed, "--layout", "nuke").status == 0)
            let folder = seed + "/com.github.kean.Nuke.DataCache/"
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            unlink(folder + names[0])
            #expect(symlink("/etc/hostname", folder + names[0]) == 0)
            let manifest = try larder.manifest(
                urls.map { ["icon": $0] } + [["icon": "https://"], [:]], name: "some.json")
            let finished = try larder.binary.run([
                "import", seed, "--layout", "nuke", "--manifest", manifest, "--json", "--cache",
                larder.directory.path("copy"),
            ])
            #expect(finished.status == 2)
            let reports = try JSONValue.lines(finished.standardOutputBytes)
            try document.compare(reports, with: "import --json")
            let failures = reports.flatMap { $0["failures"]?.array ?? [] }.compactMap(\.object)
            try document.compare(failures, with: "Failed exports and imports")
            let reasons = try document.table("Import reasons", "reason")
            #expect(reasons.words == ImportCode.allCases.map(\.rawValue))
            for code in ImportCode.allCases {
                #expect(reasons.notes[code.rawValue] == (code.isSkip ? "skipped" : nil))
            }
        }
    }
}
