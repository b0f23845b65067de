#if os(Linux)
    import Foundation
    import LarderTestSupport
    import Testing

    /// Exports to a file system that minds no case.
    @Suite struct ExportNameTests {
        /// To remove the file of the old name would remove the new one's: they are one.
        @Test(arguments: ["files", "asset-catalog"], [false, true])
        func anIconThatIsRenamedInCaseAloneStays(_ layout: String, _ prunes: Bool) async throws {
            try await withFixture { larder in
                let shim = try FaultShim(in: larder.directory, named: "folding")
                let urls = larder.origin.serveIcons(2)
                let place = larder.directory.path("Icons.xcassets")
                #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
                func export(_ names: [String], _ options: [String]) throws {
                    let manifest = try larder.manifest(
                        zip(names, urls).map { ["name": $0, "icon": $1] }, name: "named.json")
                    let finished = try larder.binary.run(
                        [
                            "export", place, "--layout", layout, "--manifest", manifest, "--cache",
                            larder.cache,
                        ] + options,
                        environment: ["LD_PRELOAD": shim.preloaded, "LARDER_FOLDING_ROOT": place])
                    #expect(finished.status == 0, "\(finished)")
                }
                try export(["App", "Other"], [])
                // The shim does what it is for.
                try export(["OTHER", "aPP"], [])
                try export(["app", "other"], prunes ? ["--prune"] : [])
                let sets = layout == "files" ? ["", ""] : ["app.imageset/", "other.imageset/"]
                var files: [String: Data] = [:]
                for case let name as String in FileManager.default.enumerator(atPath: place)
                    ?? .init()
                {
                    let path = URL(fileURLWithPath: "\(place)/\(name)")
                    if let bytes = try? Data(contentsOf: path) { files[name.lowercased()] = bytes }
                }
                #expect(files["\(sets[0])app.svg"] == Data(Icons.icon(0)), "\(files.keys)")
                #expect(files["\(sets[1])other.svg"] == Data(Icons.icon(1)), "\(files.keys)")
                #expect(files.count == (layout == "files" ? 3 : 5), "\(files.keys)")
            }
        }
    }
#endif
