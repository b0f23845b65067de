import LarderTestSupport
import Testing

/// An entry that nests 200,000 levels deep, in each format: no stack overflows.
@Suite struct DeepNestingTests {
    @Test func inJSON() async throws {
        try await expectOneToFail { Array(ManifestFiles.deepJSON($0).utf8) }
    }

    @Test func inJSONLines() async throws {
        try await expectOneToFail { Array(ManifestFiles.deepJSONLines($0).utf8) }
    }

    @Test func inABinaryPlist() async throws {
        try await expectOneToFail { ManifestFiles.deepBinary($0) }
    }

    /// libxml2 stops at a depth of its own: then the file is no manifest.
    @Test func inAnXMLPlist() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let path = try larder.write(ManifestFiles.deepXML { urls[$0] }.utf8, to: "deep")
            let finished = try larder.run("prefetch", path, "--allow-private-network")
            #expect(finished.status == 65, "\(finished)")
            #expect(finished.standardError.hasPrefix("larder: \(path): "), "\(finished)")
            #expect(finished.standardError.contains("deep"), "\(finished)")
            #expect(larder.origin.count() == 0)
        }
    }

    @Test func asTheWholeManifest() async throws {
        try await withFixture { larder in
            for opening in ["[", #"{"apps":"#, #"{"a":"#] {
                let text = String(repeating: opening, count: ManifestFiles.depth)
                let path = try larder.write(text.utf8, to: "deep")
                let finished = try larder.run("prefetch", path)
                #expect(finished.status == 65, "\(opening): \(finished)")
                #expect(finished.standardError.hasPrefix("larder: \(path): "))
            }
        }
    }

    private func expectOneToFail(_ manifest: ((Int) -> String) -> [UInt8]) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let run = try larder.prefetch(try larder.write(manifest { urls[$0] }, to: "deep"))
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "failed", "fetched"])
            #expect(try run.line(2).error?.code == "too-deep")
            #expect(larder.origin.count("/1") == 0)
        }
    }
}
