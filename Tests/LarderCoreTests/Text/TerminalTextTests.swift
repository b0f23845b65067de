import Testing

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("plain ASCII ~", "plain ASCII ~"), ("天天酷跑 é नमस्ते 🍎👩‍👩‍👧", "天天酷跑 é नमस्ते 🍎👩‍👩‍👧"),
        ("a\u{1B}[31mred\u{7}", #"a\u{1B}[31mred\u{7}"#), ("line\r\nline\t", #"line\r\nline\t"#),
        ("\u{7F}\u{85}\u{9B}2J", #"\u{7F}\u{85}\u{9B}2J"#),
        ("\u{202E}gnp.exe\u{2069}\u{200F}", #"\u{202E}gnp.exe\u{2069}\u{200F}"#),
        ("a\u{200B}b\u{FEFF}\u{AD}\u{2028}", #"a\u{200B}b\u{FEFF}\u{AD}\u{2028}"#),
        ("\u{E0041}", #"\u{E0041}"#), ("", ""), ("\0", #"\u{0}"#),
    ])
    func charactersThatControlATerminalAreEscaped(text: String, sanitized: String) {
        #expect(text.sanitizedForTerminal == sanitized)
    }

    @Test func quotedTextIsEscapedAndTruncated() {
        #expect("abc".quoted(limit: 3) == "'abc'")
        #expect("abcd".quoted(limit: 3) == "'abc…'")
        #expect("\u{1B}".quoted() == #"'\u{1B}'"#)
    }
}
