#if os(Linux)
    import Foundation
    import LarderTestSupport
    import Testing

    /// Exports to a case-insensitive file system.
    @Suite struct ExportNameTests {
        /// Both names are one file, so removing the old name would remove the icon.
        @Test(arguments: ["files", "asset-catalog"], [false, true])
        func anIconRenamedOnlyInCaseIsKept(_ layout: String, _ prunes: Bool) async throws {
            try await withFixture { larder in
                let shim = try FaultShim(in: larder.directory, named: "folding")
                let urls = larder.origin.serveIcons(2)
                let target = larder.directory.path("Icons.xcassets")
                #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
                func export(_ names: [String], _ options: [String]) throws {
                    let manifest = try larder.manifest(
                        zip(names, urls).map { ["name": $0, "icon": $1] }, name: "named.json")
                    let finished = try larder.binary.run(
                        [
                            "export", target, "--layout", layout, "--manifest", manifest, "--cache",
                            larder.cache,
                        ] + options,
                        environment: ["LD_PRELOAD": shim.preloaded, "LARDER_FOLDING_ROOT": target])
                    #expect(finished.status == 0, "\(finished)")
                }
                try export(["App", "Other"], [])
                try export(["OTHER", "aPP"], [])
                try export(["app", "other"], prunes ? ["--prune"] : [])
                let sets = layout == "files" ? ["", ""] : ["app.imageset/", "other.imageset/"]
                var files: [String: Data] = [:]
                for case let name as String in FileManager.default.enumerator(atPath: target)
                    ?? .init()
                {
                    let path = URL(fileURLWithPath: "\(target)/\(name)")
                    if let bytes = try? Data(contentsOf: path) { files[name.lowercased()] = bytes }
                }
                #expect(files["\(sets[0])app.svg"] == Data(Icons.icon(0)), "\(files.keys)")
                #expect(files["\(sets[1])other.svg"] == Data(Icons.icon(1)), "\(files.keys)")
                #expect(files.count == (layout == "files" ? 3 : 5), "\(files.keys)")
            }
        }
    }
#endif
