#if os(Linux)
    import Foundation
    import LarderTestSupport
    import Testing

    /// Imports and exports of directories in which a file has many names, and many lines in the
    /// list. A command reads the file only once.
    @Suite struct ReadOnceTests {
        private static let size = 8 << 20

        /// Runs a command and returns the number of bytes that it reads from any file.
        private func bytesRead(_ larder: CLIFixture, _ arguments: [String]) throws -> Int {
            // The counts of a shell include its children that have ended.
            let finished = try RunningProcess(
                "/bin/sh",
                ["-c", #""$0" "$@" >/dev/null 2>&1; cat /proc/$$/io"#, larder.binary.path]
                    + arguments + ["--cache", larder.cache]
            ).wait()
            let count = finished.standardOutput.firstMatch(of: /rchar: ([0-9]+)/)?.1
            return try #require(count.flatMap { Int($0) }, "\(finished)")
        }

        private func line(_ url: String, _ file: String, _ number: Int, size: Int = 1) -> String {
            let digest = String(repeating: "0", count: 56) + "\(10_000_000 + number)"
            return #"{"name":"x","url":"\#(url)","file":"\#(file)","bytes":\#(size),"#
                + #""digest":"sha256:\#(digest)","media_type":"image/png","width":1,"height":1}"#
        }

        /// Creates a file with `count` names, and a list with these lines.
        private func makeFiles(
            _ count: Int, _ larder: CLIFixture, lines: [String]
        ) throws -> String {
            let icons = larder.directory.path("icons")
            #expect(mkdir(icons, 0o755) == 0)
            let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            let first = try larder.write(
                signature + [UInt8](repeating: 7, count: Self.size - signature.count),
                to: "icons/0.png")
            for name in 1..<count { #expect(link(first, "\(icons)/\(name).png") == 0) }
            let list = "[\n" + lines.joined(separator: ",\n") + "\n]\n"
            _ = try larder.write(list.utf8, to: "icons/index.json")
            return icons
        }

        @Test func anImportReadsAFileOnceForAllItsNamesAndLines() async throws {
            try await withFixture { larder in
                let urls = (0..<3).map { "https://a.example/\($0).png" }
                let lines = urls.flatMap { url in
                    (0..<80).map { line(url, "\($0 % 40).png", $0) }
                }
                let icons = try makeFiles(40, larder, lines: lines)
                let manifest = try larder.manifest(urls: urls)
                let arguments = ["import", icons, "--layout", "files", "--manifest", manifest]
                #expect(try bytesRead(larder, arguments) < 3 * Self.size)
            }
        }

        @Test func anImportAdoptsAFileWithManyNamesOnce() async throws {
            try await withFixture { larder in
                let folder = "icons/com.github.kean.Nuke.DataCache"
                try FileManager.default.createDirectory(
                    atPath: larder.directory.path(folder), withIntermediateDirectories: true)
                let urls = (0..<30).map { "https://a.example/\($0).bmp" }
                let image = IconPainter.largeBMP(seed: 1, bytes: Self.size)
                let first = try larder.write(image, to: "first.bmp")
                for url in urls {
                    let digest = try RunningProcess(
                        "/bin/sh", ["-c", #"printf %s "$0" | sha1sum | cut -c 1-40"#, url]
                    ).wait().standardOutput.trimmingCharacters(in: .newlines)
                    #expect(link(first, larder.directory.path("\(folder)/\(digest)")) == 0)
                }
                let manifest = try larder.manifest(urls: urls)
                let arguments = [
                    "import", larder.directory.path("icons"), "--layout", "nuke", "--manifest",
                    manifest,
                ]
                #expect(try bytesRead(larder, arguments) < 3 * Self.size)
                let covered = try larder.run("verify", "--manifest", manifest)
                #expect(covered.status == 0, "\(covered)")
            }
        }

        @Test(arguments: [[], ["--prune"]])
        func anExportReadsAFileOnceForAllItsLines(_ options: [String]) async throws {
            try await withFixture { larder in
                let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
                #expect(try larder.prefetch(manifest).status == 0)
                let lines = (0..<80).map {
                    line("https://a.example/", "\($0 % 20).png", $0, size: Self.size)
                }
                let icons = try makeFiles(20, larder, lines: lines)
                let arguments = ["export", icons, "--layout", "files", "--manifest", manifest]
                #expect(try bytesRead(larder, arguments + options) < 3 * Self.size)
            }
        }

        /// The first export creates the names, and the second one finds them.
        @Test func anExportReadsAFileOnceForAllItsNames() async throws {
            try await withFixture { larder in
                let image = IconPainter.largeBMP(seed: 1, bytes: Self.size)
                let urls = (0..<10).map { number in
                    larder.origin.on("/\(number).bmp", .ok(image, type: "image/bmp"))
                    return larder.origin.url("/\(number).bmp")
                }
                let manifest = try larder.manifest(urls: urls)
                #expect(try larder.prefetch(manifest).status == 0)
                let arguments = [
                    "export", larder.directory.path("icons"), "--layout", "nuke", "--manifest",
                    manifest,
                ]
                #expect(try larder.run(arguments: arguments).status == 0)
                #expect(try bytesRead(larder, arguments) < 3 * Self.size)
            }
        }

        @Test func aSparseListIsNotReadToTheEnd() async throws {
            try await withFixture { larder in
                let icons = try makeFiles(1, larder, lines: [])
                #expect(truncate("\(icons)/index.json", 1 << 30) == 0)
                let manifest = try larder.manifest(urls: ["https://a.example/a.png"])
                let arguments = ["import", icons, "--layout", "files", "--manifest", manifest]
                #expect(try bytesRead(larder, arguments) < 3 * Self.size)
            }
        }
    }
#endif
