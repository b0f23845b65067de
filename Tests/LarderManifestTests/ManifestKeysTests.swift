import LarderCore
import LarderManifest
import Testing

@Suite struct ManifestKeysTests {
    private func keys(_ text: String, baseURL: String? = nil) throws -> [String] {
        var keys: [String] = []
        let source = ManifestSource.bytes(Array(text.utf8), name: "test")
        let rules = ManifestRules(baseURL: try baseURL.map { try HTTPURL($0) })
        try source.forEachKey(rules: rules) { keys.append($0) }
        return keys
    }

    /// Keys are normalised URLs without credentials, or the explicit keys of entries.
    @Test func manifestKeysAreTheKeysOfAPrefetch() throws {
        let text = """
            [{"icon": "HTTP://me:secret@a.example:80/x#y"}, {"icon": "http://a.example/z?token=1", "key": "z"},
             {"icon": "ftp://a.example/"}, {"name": "none"}, {"icon": "http://a.example/x"}]
            """
        #expect(try keys(text) == ["http://a.example/x", "key:z", "http://a.example/x"])
    }

    @Test func aManifestOfEntriesWithoutIconsIsRefused() throws {
        #expect(throws: ManifestError.self) { _ = try keys(#"[{"name": "A"}, {"name": "B"}]"#) }
        #expect(throws: ManifestError.self) { _ = try keys(#"[{"icon": ""}, {"icon": " "}]"#) }
        #expect(try keys("[]").isEmpty)
        // The shape is known.
        #expect(try keys(#"{"items": [{"assets": [{"kind": "software-package"}]}]}"#).isEmpty)
        #expect(try keys(#"[{"name": "A"}, {"icon": "ftp://a.example/"}]"#).isEmpty)
    }

    @Test func keysOfRelativeURLsNeedABase() throws {
        let text = #"[{"icon": "http://a.example/x"}, {"icon": "y"}]"#
        let error = #expect(throws: ManifestError.self) { _ = try keys(text) }
        #expect(error?.place == .entry(2))
        #expect(
            try keys(text, baseURL: "http://b.example/")
                == ["http://a.example/x", "http://b.example/y"])
    }

    /// Without an error, icons prefetched through a gateway would be evicted, although a manifest
    /// keeps them.
    @Test func keysOfIPFSURLsNeedAGateway() throws {
        let error = #expect(throws: ManifestError.self) {
            _ = try keys(#"[{"icon": "ipfs://c/x"}]"#)
        }
        #expect(error?.place == .entry(1))
    }
}
