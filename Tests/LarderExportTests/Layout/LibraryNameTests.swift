import Testing

@testable import LarderExport

/// File names, checked against vectors that the libraries made or document.
@Suite struct LibraryNameTests {
    @Test(arguments: [
        ("https://example.com/image.png", "01a7df95a5de36522e05107d2baaaafcfec0f578"),
        ("http://test.com", "50334ee0b51600df6397ce93ceed4728c37fee4e"),
    ])
    func nukeFileNamesMatchThoseOfTheLibrary(_ url: String, _ name: String) {
        let layout = KeyedLayout.nuke
        #expect(layout.file(layout.stem(of: url)) == name)
        #expect(layout.stem(ofFile: name) == name)
    }

    @Test(arguments: [
        (64, "99a19c215d3db74ae82c36fa43878f88c5e63830dc30799320b01a4f5aa341e4"),
        (32, "d67540393d81c9e621cb2deed9d80816"),
    ])
    func kingfisherFileNamesMatchThoseOfTheLibrary(_ digits: Int, _ name: String) {
        let layout = KeyedLayout.kingfisher(digits: digits)
        #expect(layout.stem(of: "https://example.com/image.png") == name)
        #expect(layout.stem(ofFile: name) == name)
        #expect(KeyedLayout.kingfisher(digits: 96 - digits).stem(ofFile: name) == nil)
    }

    @Test(arguments: [
        ("https://placehold.co/50x50.jpg", "e9936aba8d7f7fcca7813d72290de957.jpg"),
        (
            "https://example.com/icons/app-1024.png?v=2&size=120",
            "eba071ac37e74155ac010f863792299a.png"
        ),
    ])
    func sdwebimageFileNamesMatchThoseOfTheLibrary(_ url: String, _ name: String) {
        #expect(KeyedLayout.sdWebImage.stem(of: url) == name)
        #expect(KeyedLayout.sdWebImage.stem(ofFile: name) == name)
    }

    @Test(arguments: [
        ("https://a.example/x", ""),
        ("https://a.example", ""),
        ("https://a.example/", ""),
        ("https://a.example/x?file=a.png", ""),
        ("https://a.example/x#a.png", ""),
        ("https://a.example/v1.2/x", ""),
        ("https://a.example/.png", ""),
        ("https://a.example/x.", ""),
        ("https://a.example/x.png", ".png"),
        ("https://a.example/x.PNG/", ".PNG"),
        ("https://a.example/x.tar.gz", ".gz"),
        ("https://a.example/x%2Epng", ".png"),
        ("https://a.example/x.p%6Eg", ".png"),
        // The decoded path contains an additional component.
        ("https://a.example/x.y%2Fz.png", ".png"),
        ("https://a.example/x.y%2Fz", ""),
        ("https://a.example/x.p%00n%3Ag", ".png"),
        ("https://a.example/x.%C3%A9", ".é"),
        // A path that is not UTF-8 has no extension. SDWebImage uses that of the whole key.
        ("https://a.example/%FF.png?a=b", ".png?a=b"),
    ])
    func sdwebimageAppendsTheURLsExtension(_ url: String, _ suffix: String) {
        #expect(KeyedLayout.sdWebImage.stem(of: url) == url.md5Hex + suffix)
    }

    /// SDWebImage limits extensions to 222 UTF-16 units.
    @Test func sdwebimageDropsLongExtensions() {
        let layout = KeyedLayout.sdWebImage
        func url(_ count: Int, _ letter: String = "x") -> String {
            "https://a.example/a." + String(repeating: letter, count: count)
        }
        #expect(layout.stem(of: url(222)).utf8.count == 32 + 1 + 222)
        #expect(layout.stem(of: url(223)) == url(223).md5Hex)
        // This character is two UTF-16 units.
        #expect(layout.stem(of: url(111, "😀")).unicodeScalars.count == 32 + 1 + 111)
        #expect(layout.stem(of: url(112, "😀")) == url(112, "😀").md5Hex)
    }

    /// The digest was computed with `openssl dgst`.
    @Test func coilAndGlideFileNamesAreDigests() {
        let url = "https://example.com/image.png"
        let digest = "99a19c215d3db74ae82c36fa43878f88c5e63830dc30799320b01a4f5aa341e4"
        for coil in [KeyedLayout.coil2, .coil] {
            #expect(coil.file(coil.stem(of: url)) == digest + ".1")
            #expect(coil.journal?.emptyFiles(digest) == [digest + ".0"])
            #expect(coil.stem(ofFile: digest + ".0") == digest)
        }
        #expect(KeyedLayout.glide.file(KeyedLayout.glide.stem(of: url)) == digest + ".0")
        #expect(KeyedLayout.glide.journal?.emptyFiles(digest) == [])
        #expect(KeyedLayout.glide.stem(ofFile: digest + ".1") == nil)
    }

    /// Files whose names do not have the layout's form are never pruned.
    @Test func layoutsDoNotClaimForeignFileNames() {
        let hex = String(repeating: "a", count: 64)
        for name in [
            "", "journal", "notes.txt", hex.uppercased(), hex + "0", hex + ".2", hex + ".0.tmp",
            hex + ".01", "g" + hex.dropFirst(), String(hex.prefix(63)) + "é",
            String(hex.prefix(31)) + ".png", String(hex.prefix(32)) + ".",
            String(hex.prefix(32)) + "x.png",
        ] {
            for layout in ExportLayout.allCases.compactMap(\.library) {
                #expect(layout.stem(ofFile: name) == nil, "\(layout) \(name)")
            }
        }
    }

    @Test func digestsOfTheEmptyTextMatchKnownVectors() {
        #expect("".md5Hex == "d41d8cd98f00b204e9800998ecf8427e")
        #expect("".sha1Hex == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(
            "".sha256Hex == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}
