import Testing

@testable import LarderManifest

@Suite struct URLListManifestTests {
    @Test(arguments: ["\n", "\r\n"])
    func inputFilesOfWgetAndAria2AreRead(end: String) throws {
        let lines = [
            "# icons", "", "https://a.example/1.png", "  out=one.png", "\tdir=/tmp",
            "https://a.example/2.png\thttps://mirror.example/2.png", "  https://a.example/3.png ",
            "relative.png", "ftp://a.example/4.png", "#https://a.example/5.png",
            "https://a.example/a=b",
        ]
        for text in [lines.joined(separator: end), "\u{FEFF}" + lines.joined(separator: end) + end]
        {
            let reading = try readManifest(text)
            #expect(reading.summary == ManifestSummary(format: .urlList, entries: 6))
            #expect(
                reading.words == [
                    "https://a.example/1.png", "https://a.example/2.png", "https://a.example/3.png",
                    "relative", "other-scheme", "https://a.example/a=b",
                ])
            #expect(reading.items.map(\.line) == [3, 6, 7, 8, 9, 11])
            #expect(reading.places?.shape == "list of URLs")
        }
    }

    /// As in wget. Hosts must be UTF-8.
    @Test func bytesThatAreNotUTF8AreKeptInURLs() throws {
        let latin1 =
            "https://a.example/caf\u{E9}.png\nhttps://b\u{FC}cher.example/\nhttps://a.example/x\n"
        let bytes = latin1.unicodeScalars.map { UInt8($0.value) }
        let reading = try readManifest(.bytes(bytes, name: "list"))
        #expect(
            reading.words == [
                "https://a.example/caf%E9.png", "unparsable-url", "https://a.example/x",
            ])
    }

    /// The bytes of UTF-16 cannot be kept in URLs, so the whole file is refused.
    @Test(arguments: [true, false])
    func aListInUTF16IsRefused(hasMark: Bool) throws {
        let bytes = ((hasMark ? "\u{FEFF}" : "") + "https://a.example/1.png\n").utf16
            .flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        let error = #expect(throws: ManifestError.self) {
            try readManifest(.bytes(bytes, name: "list"))
        }
        #expect(error?.code == .notAManifest)
    }

    @Test(arguments: ["#!/bin/sh\necho\n", "relative.png\n", "key: value\n"])
    func otherTextIsNotAURLList(text: String) throws {
        #expect(try manifestError(text)?.code == .notAManifest)
    }

    @Test func severalURLsOnOneLineAreRefused() throws {
        let reading = try readManifest(
            "https://a.example/1 https://a.example/2\nhttps://a.example/a b\n"
                + "https://a.example/3\rhttps://a.example/4\r")
        #expect(
            reading.words == ["unparsable-url", "https://a.example/a%20b", "unparsable-url"])
    }

    @Test func anOverlongLineDoesNotAffectOtherLines() throws {
        let long = "https://a.example/" + String(repeating: "x", count: 2000)
        let reading = try readManifest(
            "https://a.example/1\n\(long)\nhttps://a.example/2",
            limits: ManifestLimits(maximumEntrySize: 1000))
        #expect(reading.words == ["https://a.example/1", "too-large", "https://a.example/2"])
    }
}
