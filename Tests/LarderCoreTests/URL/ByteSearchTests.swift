import Testing

@Suite struct ByteSearchTests {
    @Test(arguments: [
        ("://", true), ("a://", true), ("://a", true), (":/:/://", true), ("::/:/", false),
        (":::/", false), ("::///", true), (":/:://x", true), (":/", false), ("", false),
        (": //", false),
        ("\u{301}://\u{301}", true), ("\0://", true),
    ])
    func aWordIsFoundWhereverItIs(text: String, isThere: Bool) {
        #expect(text.utf8.holds("://") == isThere)
        #expect(Array(text.utf8)[...].holds("://") == isThere)
        // Where the bytes are in no one place.
        #expect(text.utf8.lazy.map { $0 }.holds("://") == isThere)
    }

    @Test func aWordOfOneByteIsFound() {
        #expect("ab".utf8.holds("b") && !"ab".utf8.holds("c"))
    }

    /// Text is found by its bytes: a mark does not change the letter before it.
    @Test func marksBelongToNoLetter() {
        #expect("hmac=\u{301}".utf8.holds("hmac="))
        #expect(!"\u{E9}".utf8.holds("e"))
    }
}
