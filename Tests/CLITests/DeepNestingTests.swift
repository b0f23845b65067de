import LarderTestSupport
import Testing

/// Manifests with 200,000 levels of nesting, which must not overflow the stack.
@Suite struct DeepNestingTests {
    @Test func aDeeplyNestedEntryInJSONFailsAlone() async throws {
        try await expectOneFailure { Array(ManifestFiles.deepJSON($0).utf8) }
    }

    @Test func aDeeplyNestedEntryInJSONLinesFailsAlone() async throws {
        try await expectOneFailure { Array(ManifestFiles.deepJSONLines($0).utf8) }
    }

    @Test func aDeeplyNestedEntryInABinaryPlistFailsAlone() async throws {
        try await expectOneFailure { ManifestFiles.deepBinary($0) }
    }

    /// libxml2 stops at its own depth limit, so the rest of the manifest cannot be read.
    @Test func anXMLPlistWithADeeplyNestedEntryIsRefused() async throws {
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

    @Test func aManifestOfNestedContainersAloneIsRefused() async throws {
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

    private func expectOneFailure(_ manifest: ((Int) -> String) -> [UInt8]) async throws {
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
