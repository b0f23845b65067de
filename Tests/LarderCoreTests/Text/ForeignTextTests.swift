import Testing

@Suite struct ForeignTextTests {
    /// `==` treats some of these texts as equal, because they are canonically equivalent.
    @Test(arguments: [
        ("\u{E9}", "e\u{301}"), ("\u{212A}", "K"), ("\u{1E9B}\u{323}", "\u{17F}\u{323}\u{307}"),
        ("a\0", "a"),
        ("\u{FFFD}", "?"), ("\u{AC00}", "\u{1100}\u{1161}"), ("A", "a"), ("a", "a "),
        ("", "\u{FEFF}"),
    ])
    func textIsComparedByteByByte(_ text: String, _ other: String) {
        #expect(!text.isSame(as: other))
        #expect(!other[...].isSame(as: text))
        #expect(text.isSame(as: text) && other.isSame(as: other[...]))
    }

    @Test func wordsAreComparedIgnoringTheCaseOfASCIILetters() {
        #expect("ETag".utf8.isWord("etag"))
        // The lower case of the Kelvin sign is k in Unicode.
        #expect(!"\u{212A}ey".utf8.isWord("key"))
        #expect(!"etags".utf8.isWord("etag"))
        #expect(!"eta".utf8.isWord("etag"))
    }
}
