import Foundation
import LarderManifest
import Testing

@testable import rehearse

@Suite struct TableRowsTests {
    @Test func rowsWithEqualURLsShareANumber() {
        let rows = TableRows(["https://a/1", nil, "https://a/2", "https://a/1", "https://a/é"])
        #expect(rows.count == 5)
        #expect(rows.urlCount == 3)
        #expect(rows.withoutIcon == 1)
        #expect(
            (0..<5).map { rows[$0] } == [
                "https://a/1", nil, "https://a/2", "https://a/1", "https://a/é",
            ])
        let numbers = (0..<5).map { rows[$0].flatMap { rows.number(of: $0) } }
        #expect(numbers[0] == numbers[3])
        #expect(Set([numbers[0], numbers[2], numbers[4]]) == [0, 1, 2])
        #expect(rows.number(of: "https://a/3") == nil)
        #expect(TableRows([String?]()).number(of: "") == nil)
    }

    /// Otherwise, every image of such a URL would count as another row's.
    @Test func urlsAreSpelledAsFoundationSpellsThem() throws {
        let text = #"[{"icon": "https://a.example/a|b[1].png"}]"#
        let rows = try TableRows.read(.bytes(Array(text.utf8), name: "a"), ManifestRules()) { _ in }
        let url = try #require(rows[0].flatMap { URL(string: $0) })
        #expect(url.absoluteString == rows[0])
        #expect(rows.number(of: url.absoluteString) == 0)
    }

    @Test func entriesWithoutUsableIconsAreRows() throws {
        let text = """
            [{"icon": "https://a.example/1"}, {"name": "none"}, {"icon": 7},
             {"icon": "https://a.example/2"}, {"icon": "data:,a"}]
            """
        var complaints: [String] = []
        let rows = try TableRows.read(.bytes(Array(text.utf8), name: "a"), ManifestRules()) {
            complaints.append($0)
        }
        #expect(rows.count == 5)
        #expect(rows.urlCount == 2)
        #expect(rows[0] == "https://a.example/1")
        #expect(rows[3] == "https://a.example/2")
        #expect(rows.withoutIcon == 3)
        #expect(complaints == ["a: entry 3: icon is an integer, not a string"])
    }
}
