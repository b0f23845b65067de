#if os(Linux)
    import Foundation
    import LarderTestSupport
    import Testing

    /// Exports that are killed at each system call that would change a file.
    @Suite struct ExportKillTests {
        /// The next export must have the same result as without the kill.
        @Test(.isLong, arguments: ["files", "asset-catalog", "gallery", "coil", "kingfisher"])
        func theNextExportRepairsAKilledOne(_ layout: String) async throws {
            try await withFixture { larder in
                let scene = try Scene(larder, layout)
                let (calls, whole) = try scene.runToEnd()
                #expect(calls > 10)
                for number in 1...calls {
                    try scene.prepare()
                    #expect(try scene.export(.new, killedAt: number).status == -SIGKILL)
                    #expect(try scene.export(.new).status == 0)
                    #expect(try scene.files() == whole, "killed at call \(number)")
                    // An export without icons must remove all icons of the killed export.
                    try scene.prepare()
                    _ = try scene.export(.new, killedAt: number)
                    #expect(try scene.export(.none).status == 0)
                    #expect(try scene.icons().isEmpty, "killed at call \(number)")
                }
            }
        }

        /// A second export that changes the bytes of one icon and the type of another, adds an icon
        /// and removes one.
        private struct Scene {
            enum Content: String { case old, new, none }

            private let larder: CLIFixture
            private let layout: String
            private let shim: FaultShim
            private let target: String
            private let before: String
            private let cache: String

            init(_ larder: CLIFixture, _ layout: String) throws {
                self.larder = larder
                self.layout = layout
                shim = try FaultShim(in: larder.directory)
                target = larder.directory.path("out.xcassets")
                before = larder.directory.path("before.xcassets")
                cache = larder.cache
                let urls = larder.origin.serveIcons(5)
                func write(_ content: Content, _ icons: [(String, Int)]) throws -> String {
                    try larder.manifest(
                        icons.map { ["name": $0, "icon": urls[$1]] }, name: "\(content).json")
                }
                let old = try write(.old, [("Same", 0), ("Bytes", 1), ("Type", 2), ("Gone", 3)])
                let png = IconPainter.png(seed: 9, size: 16)
                larder.origin.on("/png", .ok(png, type: "image/png"))
                let new = try larder.manifest(
                    [
                        ["name": "Same", "icon": urls[0]], ["name": "Bytes", "icon": urls[4]],
                        ["name": "Type", "icon": larder.origin.url("/png")],
                        ["name": "Added", "icon": urls[2]],
                    ], name: "new.json")
                _ = try write(.none, [])
                for manifest in [old, new] {
                    guard try larder.prefetch(manifest).status == 0 else {
                        throw BrokenPromise("no icons")
                    }
                }
                guard try export(.old).status == 0 else { throw BrokenPromise("no export") }
                try FileManager.default.moveItem(atPath: target, toPath: before)
            }

            func prepare() throws {
                try FileManager.default.removeTree(atPath: target)
                try FileManager.default.copyItem(atPath: before, toPath: target)
            }

            /// Runs the export without a kill, and returns the number of calls and the files.
            func runToEnd() throws -> (calls: Int, files: [String: Data]) {
                try prepare()
                let log = larder.directory.path("calls")
                let finished = try run(.new, shim.counting(below: target, log: log))
                guard finished.status == 0 else { throw BrokenPromise("\(finished)") }
                let lines = try String(contentsOfFile: log, encoding: .utf8)
                return (lines.count { $0 == "\n" }, try files())
            }

            func export(_ content: Content, killedAt number: Int? = nil) throws -> Finished {
                try run(content, number.map { shim.killing(at: $0, below: target) } ?? [:])
            }

            private func run(
                _ content: Content, _ environment: [String: String]
            ) throws -> Finished {
                try larder.binary.run(
                    [
                        "export", target, "--layout", layout, "--prune", "--cache", cache,
                        "--manifest", larder.directory.path("\(content.rawValue).json"), "--quiet",
                    ], environment: environment)
            }

            func files() throws -> [String: Data] {
                var files: [String: Data] = [:]
                for case let name as String in FileManager.default.enumerator(atPath: target)
                    ?? .init()
                {
                    var status = stat()
                    guard lstat("\(target)/\(name)", &status) == 0 else { continue }
                    // Includes directories, because a remaining one would be an image set.
                    files[name] =
                        status.st_mode & S_IFMT == S_IFDIR
                        ? Data() : try Data(contentsOf: URL(fileURLWithPath: "\(target)/\(name)"))
                }
                return files
            }

            /// Returns the files other than lists, the gallery page and the journal.
            func icons() throws -> [String] {
                try files().filter { name, bytes in
                    let isList = ["index.json", "Contents.json"].contains(name)
                    let isPage = layout == "gallery" && !name.hasPrefix("objects/")
                    let isFolder =
                        bytes.isEmpty && !name.contains("/") && !name.hasSuffix(".imageset")
                    return !isList && !isPage && !isFolder && !name.hasSuffix("/journal")
                }.map(\.key)
            }
        }
    }
#endif
