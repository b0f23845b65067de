import Foundation
import Testing

@testable import LarderExport

@Suite struct SafeNameTests {
    @Test(arguments: [
        ("Alpha", "Alpha"), ("  A  b ", "A-b"), ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"), ("a.", "a"), ("-rf", "rf"),
        ("a/b\\c:d*e?f\"g<h>i|j", "a-b-c-d-e-f-g-h-i-j"),
        ("CON", "CON_"), ("nul.txt", "nul_.txt"), ("aux.a.b", "aux_.a.b"), ("Lpt9", "Lpt9_"),
        ("COM10", "COM10"),
        ("\u{202E}gnp", "gnp"), ("a\0b\n", "a-b"), ("日本語 アプリ", "日本語-アプリ"),
        ("e\u{301}", "\u{E9}"), ("😀", "icon"), ("...", "icon"),
    ])
    func namesBecomeSafeFileNames(_ name: String, _ safe: String) {
        let made = SafeName.of(name, url: nil)
        #expect(Array(made.utf8) == Array(safe.utf8), "\(made)")
    }

    @Test(arguments: [
        ("https://a.example/icons/Big%20one.png?x=1", "Big-one"),
        ("https://a.example/", "a.example"),
        ("https://a.example", "a.example"), ("https://a.example/a.b.c/", "a.b"),
        ("https://a.example/%2E%2E", "a.example"),
    ])
    func withoutANameTheFileNameComesFromTheURL(_ url: String, _ safe: String) {
        #expect(SafeName.of("", url: url) == safe)
    }

    @Test func longFileNamesAreCut() {
        let long = SafeName.of(String(repeating: "é", count: 5000), url: nil)
        #expect(long.utf8.count == 100)
        let marks = SafeName.of("a" + String(repeating: "\u{301}", count: 100_000), url: nil)
        #expect(marks.utf8.count <= 100)
    }

    /// The underscore of a reserved name counts towards the limit.
    @Test(arguments: [
        ("con." + String(repeating: "a", count: 96), "con_." + String(repeating: "a", count: 95)),
        ("con." + String(repeating: "é", count: 48), "con_." + String(repeating: "é", count: 47)),
        (
            "con." + String(repeating: "a", count: 94) + "-b",
            "con_." + String(repeating: "a", count: 94)
        ),
        ("con." + String(repeating: "a", count: 95), "con_." + String(repeating: "a", count: 95)),
    ])
    func longReservedFileNamesAreCut(_ name: String, _ safe: String) {
        let made = SafeName.of(name, url: nil)
        #expect(Array(made.utf8) == Array(safe.utf8), "\(made)")
    }

    /// Some file systems ignore case and normalisation.
    @Test(arguments: [
        ("Alpha", "aLPHA"), ("Caf\u{E9}", "CAFE\u{301}"), ("STRASSE", "straße"), ("ΣΑΣ", "σας"),
    ])
    func namesThatFileSystemsTreatAsEqualFoldAlike(_ left: String, _ right: String) {
        #expect(Array(SafeName.folded(left).utf8) == Array(SafeName.folded(right).utf8))
    }
}
