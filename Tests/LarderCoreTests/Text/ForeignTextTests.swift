import Testing

@Suite struct ForeignTextTests {
    /// `==` says that they are the same, and so do others that mean well.
    @Test(arguments: [
        ("\u{E9}", "e\u{301}"), ("\u{212A}", "K"), ("\u{1E9B}\u{323}", "\u{17F}\u{323}\u{307}"),
        ("a\0", "a"),
        ("\u{FFFD}", "?"), ("\u{AC00}", "\u{1100}\u{1161}"), ("A", "a"), ("a", "a "),
        ("", "\u{FEFF}"),
    ])
    func whatOnlyMeansTheSameIsNotTheSame(_ text: String, _ other: String) {
        #expect(!text.isSame(as: other))
        #expect(!other[...].isSame(as: text))
        #expect(text.isSame(as: text) && other.isSame(as: other[...]))
    }

    @Test func aWordIsOneInEitherCaseOfASCII() {
        #expect("ETag".utf8.isWord("etag"))
        // The Kelvin sign is a k in lower case, elsewhere.
        #expect(!"\u{212A}ey".utf8.isWord("key"))
        #expect(!"etags".utf8.isWord("etag"))
        #expect(!"eta".utf8.isWord("etag"))
    }
}
