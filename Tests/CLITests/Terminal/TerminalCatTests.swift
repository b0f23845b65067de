import LarderTestSupport
import Testing

/// `cat` with standard output on a terminal.
@Suite struct TerminalCatTests {
    private func cat(
        _ larder: CLIFixture, _ body: [UInt8], _ options: String...
    ) throws -> (status: Int32, text: String) {
        larder.origin.on("/a", .ok(body))
        let url = larder.origin.url("/a")
        #expect(
            try larder.prefetch(larder.manifest(url), options: ["--any-content"]).status == 0)
        return try TerminalProcess(
            larder.binary.path, ["cat", url, "--cache", larder.cache] + options,
            environment: [:], directory: larder.directory.path
        ).finish()
    }

    @Test(arguments: [
        Icons.png, Array("\u{1B}[2J".utf8), Array("\u{9B}2J".utf8), Array("\u{202E}".utf8),
        // A character across the border of two pieces, which are read one at a time.
        [UInt8](repeating: 0x61, count: (1 << 20) - 1) + Array("\u{9B}2J".utf8),
    ])
    func binaryDataIsRefused(_ body: [UInt8]) async throws {
        try await withFixture { larder in
            let (status, text) = try cat(larder, body)
            #expect(status == 64, "\(text)")
            let message = text.split(separator: /\s+/).joined(separator: " ")
            #expect(message.hasPrefix("larder: \(larder.origin.url("/a")): binary data"))
            #expect(message.hasSuffix("redirect it to a file, or use --force"), "\(message)")
        }
    }

    @Test func forcePrintsBinaryData() async throws {
        try await withFixture { larder in
            let (status, text) = try cat(larder, Icons.png, "--force")
            #expect(status == 0)
            #expect(text.contains("IHDR") && text.contains("IEND"), "\(text)")
        }
    }

    @Test(arguments: [Icons.icon(1), Array("a\tb\n".utf8), Array("Äpfel\n".utf8)])
    func textIsPrinted(_ body: [UInt8]) async throws {
        try await withFixture { larder in
            let (status, text) = try cat(larder, body)
            #expect(status == 0)
            #expect(text == String(decoding: body, as: UTF8.self))
        }
    }
}
