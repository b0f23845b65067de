import Testing

@testable import larder

@Suite struct ColumnsTests {
    @Test(arguments: [
        ("", 0), ("icon.png", 8), ("漢字", 4), ("ｱｲｺﾝ", 4), ("アイコン", 8), ("e\u{301}", 1),
        ("한국", 4), ("☃", 1), ("🍏", 2), ("שלום", 4),
    ])
    func wideCharactersTakeTwoColumnsAndCombiningMarksNone(_ text: String, _ columns: Int) {
        #expect(text.columns == columns)
    }

    @Test(arguments: [
        ("漢字漢字", 8, "漢字漢字"), ("漢字漢字", 7, "漢字漢…"), ("漢字漢字", 6, "漢字…"),
        ("abc", 2, "a…"), ("abc", 1, "…"), ("abc", 0, ""), ("", 0, ""),
    ])
    func textIsTruncatedByColumns(_ text: String, _ limit: Int, _ cut: String) {
        #expect(text.cut(to: limit) == cut)
        #expect(text.cut(to: limit).columns <= limit)
    }
}
