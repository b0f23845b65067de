import LarderCache
import Testing

@testable import LarderKit

@Suite struct LockedEntryTests {
    private let digest = Digest(hex: String(repeating: "00", count: 32))

    @Test(arguments: [
        (-8, #""priority":"veryLow","#), (-4, #""priority":"low","#), (0, ""),
        (4, #""priority":"high","#), (8, #""priority":"veryHigh","#), (5, #""priority":5,"#),
    ])
    func anEntryIsAPlainOne(_ priority: Int, _ written: String) throws {
        let entry = LockedEntry(
            name: "", icon: "http://a.example/", key: nil, priority: priority,
            digest: try #require(digest), size: 3)
        #expect(
            entry.json == #"{"icon":"http://a.example/","# + written
                + #""integrity":"sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","size":3}"#)
    }

    @Test func whatSteersATerminalIsEscaped() throws {
        let entry = LockedEntry(
            name: "\u{9B}\"\\ é\u{E0041}", icon: "http://a.example/", key: "\u{7F}", priority: 0,
            digest: try #require(digest), size: 3)
        #expect(entry.json.contains(#""name":"\u009b\"\\ é\udb40\udc41""#), "\(entry.json)")
        #expect(entry.json.contains(#""key":"\u007f""#))
    }
}
