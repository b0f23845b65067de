import Testing

@Suite struct ByteSearchTests {
    @Test(arguments: [
        ("://", true), ("a://", true), ("://a", true), (":/:/://", true), ("::/:/", false),
        (":::/", false), ("::///", true), (":/:://x", true), (":/", false), ("", false),
        (": //", false),
        ("\u{301}://\u{301}", true), ("\0://", true),
    ])
    func textIsFoundAtAnyPosition(text: String, isFound: Bool) {
        #expect(text.utf8.holds("://") == isFound)
        #expect(Array(text.utf8)[...].holds("://") == isFound)
        // A collection without contiguous storage.
        #expect(text.utf8.lazy.map { $0 }.holds("://") == isFound)
    }

    @Test func aSingleByteIsFound() {
        #expect("ab".utf8.holds("b") && !"ab".utf8.holds("c"))
    }

    /// Bytes are compared, so a combining mark does not change the letter before it.
    @Test func textIsFoundBeforeACombiningMark() {
        #expect("hmac=\u{301}".utf8.holds("hmac="))
        #expect(!"\u{E9}".utf8.holds("e"))
    }
}
