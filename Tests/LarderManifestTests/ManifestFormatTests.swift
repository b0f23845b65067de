import Testing

@Suite struct ManifestFormatTests {
    @Test(
        arguments: [
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "an image (PNG)"),
            ([0xFF, 0xD8, 0xFF, 0xE0], "an image (JPEG)"),
            (Array("GIF89a".utf8), "an image (GIF)"),
            (Array("RIFF\u{0}\u{0}\u{0}\u{0}WEBPVP8 ".utf8), "an image (WebP)"),
            ([0x00, 0x00, 0x01, 0x00], "an image (ICO)"),
            ([0x50, 0x4B, 0x03, 0x04], "a ZIP archive"),
            ([0x28, 0xB5, 0x2F, 0xFD], "Zstandard data"),
            (Array("%PDF-1.7".utf8), "a PDF document"),
            (Array("<!DOCTYPE html><html>".utf8), "an HTML page"),
            (Array("\n <HTML lang='en'>".utf8), "an HTML page"),
            (Array("\u{0}\u{0}\u{0}\u{1}".utf8), "binary data"),
            ([0xFF, 0xFE, 0x5B, 0x00], "UTF-16 text"),
            (Array("--- yaml".utf8), "starts with '--- yaml'"),
            ([0x4D, 0x5A, 0x90, 0x00], "a Windows program"),
            (Array("MZ icons\nof Mozambique".utf8), "starts with 'MZ icons'"),
            (Array("ID3,name".utf8), "starts with 'ID3,name'"),
        ] as [([UInt8], String)])
    func theErrorNamesTheFormatOfTheFile(bytes: [UInt8], name: String) throws {
        let error = try #require(try manifestError(.bytes(bytes, name: "test")))
        #expect(error.code == .notAManifest)
        #expect(error.reason.contains(name), "\(error)")
    }

    @Test(arguments: [
        "#EXTM3U\nhttps://a.example/1.mp3\n",
        "#EXTM3U\r\n#EXTINF:1,x\r\nhttps://a.example/1.mp3", "\u{FEFF}#EXTM3U",
        "#EXTM3U url-tvg=\"https://a.example/\"\nhttps://a.example/1.ts",
    ])
    func aMediaPlaylistIsNotAManifest(text: String) throws {
        let error = try #require(try manifestError(text))
        #expect(error.code == .notAManifest)
        #expect(error.reason.contains("a media playlist"), "\(error)")
    }

    @Test func aCommentMayStartLikeAPlaylist() throws {
        let text = "#EXTM3Ulike\nhttps://a.example/1.png"
        #expect(try readManifest(text).words == ["https://a.example/1.png"])
    }

    @Test func aManifestMayContainSignaturesOfOtherFormats() throws {
        let icon = "https://a.example/1.png"
        for text in [
            #"{ "a": "WEBP", "apps": [{"icon": "\#(icon)"}]}"#,
            #"[{"name": "\#(String(repeating: "n", count: 246))ustar", "icon": "\#(icon)"}]"#,
        ] {
            #expect(try readManifest(text).words == [icon], "\(text)")
        }
    }

    @Test(arguments: ["", " \n\r\n\t", "\u{FEFF}", "\u{FEFF}\n"])
    func anEmptyFileIsReported(text: String) throws {
        #expect(try manifestError(text)?.code == .empty)
    }

    @Test func aByteOrderMarkIsSkipped() throws {
        let icon = "https://a.example/1.png"
        #expect(try readManifest("\u{FEFF}[{\"icon\":\"\(icon)\"}]").words == [icon])
        #expect(try readManifest("\u{FEFF}\r\n{\"icon\":\"\(icon)\"}\r\n").words == [icon])
    }
}
