import LarderCore

/// A guess at the type of content that is not an image, for messages.
package enum ContentGuess {
    /// Returns a noun phrase, for example "an HTML page". Never quotes the content.
    package static func describe(_ bytes: UnsafeRawBufferPointer) -> String {
        if let name = signature(of: bytes) { return name }
        let start = bytes.prefix(4096)
        if start.allSatisfy({ $0 == 0 }) { return "only zero bytes" }
        return text(start).map(describe(text:)) ?? "unknown binary data"
    }

    package static func signature(of bytes: UnsafeRawBufferPointer) -> String? {
        signatures.first { bytes.dropFirst($0.offset).starts(with: $0.signature) }?.name
    }

    private static let signatures: [(offset: Int, signature: [UInt8], name: String)] = [
        (0, Array("%PDF-".utf8), "a PDF document"),
        (0, Array("%!PS".utf8), "a PostScript document"),
        (0, [0x1F, 0x8B], "gzip data"),
        (0, Array("BZh".utf8), "bzip2 data"),
        (0, [0xFD] + Array("7zXZ\0".utf8), "xz data"),
        (0, [0x28, 0xB5, 0x2F, 0xFD], "Zstandard data"),
        (0, Array("PK\u{3}\u{4}".utf8), "a ZIP archive"),
        (0, Array("Rar!".utf8), "a RAR archive"),
        (0, Array("7z".utf8) + [0xBC, 0xAF], "a 7-Zip archive"),
        (257, Array("ustar".utf8), "a tar archive"),
        (0, [0x7F] + Array("ELF".utf8), "an ELF program"),
        (0, [0xCF, 0xFA, 0xED, 0xFE], "a Mach-O program"),
        (0, [0xCA, 0xFE, 0xBA, 0xBE], "a Mach-O program"),
        (0, Array("MZ".utf8), "a Windows program"),
        (0, Array("bplist".utf8), "a binary property list"),
        (0, Array("SQLite format 3".utf8), "an SQLite database"),
        (0, Array("icns".utf8), "an unsupported Apple icon family (icns)"),
        (0, [0x00, 0x00, 0x02, 0x00], "a Windows cursor"),
        (0, Array("II*\0".utf8), "an unsupported TIFF file"),
        (0, Array("MM\0*".utf8), "an unsupported TIFF file"),
        (0, [0xFF, 0x0A], "an unsupported JPEG XL file"),
        (4, Array("JXL ".utf8), "an unsupported JPEG XL file"),
        (4, Array("jP  ".utf8), "an unsupported JPEG 2000 file"),
        (0, Array("8BPS".utf8), "an unsupported Photoshop file"),
        (4, Array("ftypmif".utf8), "a HEIF file of an unknown kind"),
        (4, Array("ftyp".utf8), "an MP4 or QuickTime file"),
        (0, Array("RIFF".utf8), "a RIFF file"),
        (0, Array("wOFF".utf8), "a web font"),
        (0, Array("wOF2".utf8), "a web font"),
        (0, Array("OggS".utf8), "an Ogg file"),
        (0, Array("ID3".utf8), "an MP3 file"),
    ]

    private static func text(_ start: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
        let isUTF16 = start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF])
        // The guess needs only ASCII characters.
        let bytes = isUTF16 ? start.dropFirst(2).filter { $0 != 0 } : Array(start)
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) })
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        let unreadable = text.unicodeScalars.count { $0 == "\u{FFFD}" }  // text: scalars
        guard unreadable * 8 <= text.unicodeScalars.count else { return nil }
        return bytes.lowercasedASCII
    }

    package static let page = "an HTML page"

    private static let openings = [
        "<!doctype html", "<html", "<head", "<body", "<title", "<script", "<meta",
    ].map { Array($0.utf8) }

    private static func describe(text: [UInt8]) -> String {
        // White space can occur before and after byte order marks.
        var text = text.drop(while: \.isSpace)
        while text.starts(with: [0xEF, 0xBB, 0xBF]) {
            text = text.dropFirst(3).drop(while: \.isSpace)
        }
        let isXML = text.starts(with: "<?xml".utf8)
        if openings.contains(where: { text.starts(with: $0) })
            || (isXML || text.starts(with: "<!--".utf8)) && text.contains(openings[1])
        {
            return page
        }
        switch text.first {
        case nil: return "only white space"
        case UInt8(ascii: "<"): return isXML ? "an XML document" : "markup"
        case UInt8(ascii: "{"), UInt8(ascii: "["): return "JSON"
        default: return text.starts(with: "http/1.".utf8) ? "an HTTP message" : "plain text"
        }
    }
}
