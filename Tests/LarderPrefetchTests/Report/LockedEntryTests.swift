import Foundation
import LarderManifest
import Testing

@testable import LarderCore
@testable import LarderPrefetch

@Suite struct LockedEntryTests {
    private let digest = Digest(hex: String(repeating: "00", count: 32))

    @Test(arguments: [
        (-8, #""priority":"veryLow","#), (-4, #""priority":"low","#), (0, ""),
        (4, #""priority":"high","#), (8, #""priority":"veryHigh","#), (5, #""priority":5,"#),
    ])
    func aLockedEntryIsAPlainManifestEntry(_ priority: Int, _ written: String) throws {
        let entry = Plan.lockedEntry(
            name: "", icon: "http://a.example/", key: nil, priority: priority,
            digest: try #require(digest), size: 3)
        #expect(
            entry == #"{"icon":"http://a.example/","# + written
                + #""integrity":"sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","size":3}"#)
    }

    @Test func controlCharactersInALockedEntryAreEscaped() throws {
        let entry = Plan.lockedEntry(
            name: "\u{9B}\"\\ é\u{E0041}", icon: "http://a.example/", key: "\u{7F}", priority: 0,
            digest: try #require(digest), size: 3)
        #expect(entry.contains(#""name":"\u009b\"\\ é\udb40\udc41""#), "\(entry)")
        #expect(entry.contains(#""key":"\u007f""#))
    }

    /// In Base64 in a lock file, a larger icon would exceed the maximum size of an entry.
    @Test func inlineDataTooLargeForALockIsNotFetched() throws {
        func items(_ icon: String) throws -> [ManifestItem] {
            var items: [ManifestItem] = []
            let text = #"[{"icon":"\#(icon)"}]"#
            _ = try ManifestReader(source: .bytes(Array(text.utf8), name: "test")).read {
                items.append($0)
            }
            return items
        }
        let largest = String(repeating: "x", count: InlineEntry.maximumSize)
        guard case .unfetched(.data)? = try items("data:,\(largest)x").first?.result else {
            Issue.record("the entry is accepted")
            return
        }
        guard case .inline(let entry)? = try items("data:,\(largest)").first?.result else {
            Issue.record("the entry is refused")
            return
        }
        let icon = "data:image/svg+xml;base64," + Data(entry.bytes).base64EncodedString()
        let lock = Plan.lockedEntry(
            name: "", icon: icon, key: nil, priority: 0, digest: try #require(digest),
            size: Int64(entry.bytes.count))
        let locked = ManifestReader(
            source: .bytes(Array("[\(lock)]".utf8), name: "lock"))
        var keys: [String?] = []
        _ = try locked.read { keys.append($0.resourceKey) }
        #expect(keys == [entry.resourceKey])
    }
}
