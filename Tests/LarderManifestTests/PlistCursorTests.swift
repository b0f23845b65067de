import Foundation
import Testing

@testable import LarderManifest

@Suite struct PlistCursorTests {
    private static let limits = ManifestLimits(maximumDepth: 8, maximumEntrySize: 1000)
    private static let good = "<dict><key>icon</key><string>https://a.example/a.png</string></dict>"
    private static let url = "https://a.example/a.png"

    private func values(_ content: String) throws -> [ManifestValue] {
        let window = ByteWindow(ByteInput(bytes: Array(xmlPlist(content).utf8), name: "test"))
        var values: [ManifestValue] = []
        _ = try ManifestDocument(
            window: window, limits: .init(), recognition: ShapeRecognition(ManifestRules())
        ).readXML { values.append(try $0.content.get().withoutSpans) }
        return values
    }

    @Test(
        arguments: [
            ("<true/>", .bool(true)), ("<false></false>", .bool(false)), ("<string/>", .string("")),
            ("<string> a b </string>", .string(" a b ")),
            ("<string> \n</string>", .string(" \n")), ("<true> </true>", .bool(true)),
            ("<integer>-12</integer>", .integer(-12)),
            ("<integer>0x1F</integer>", .integer(31)),
            ("<integer>18446744073709551615</integer>", .double(18_446_744_073_709_551_616)),
            ("<real>1.5e3</real>", .double(1500)), ("<data>AAEC</data>", .opaque("data")),
            ("<date>2024-01-01T00:00:00Z</date>", .opaque("a date")), ("<array/>", .array([])),
            ("<dict></dict>", .dictionary([])),
            (
                "<dict><key>name</key><array><integer>1</integer></array><key/><dict/></dict>",
                .dictionary([
                    .init(key: "name", value: .array([.integer(1)])),
                    .init(key: "", value: .dictionary([])),
                ])
            ),
        ] as [(String, ManifestValue)])
    func xmlPlistValuesAreRead(element: String, value: ManifestValue) throws {
        #expect(try values("<array>\(element)</array>") == [value])
    }

    @Test(arguments: [
        (
            String(repeating: "<array>", count: 9) + String(repeating: "</array>", count: 9),
            "too-deep"
        ),
        (
            String(repeating: "<dict><key>a</key>", count: 9) + "<true/>"
                + String(repeating: "</dict>", count: 9), "too-deep"
        ),
        ("<string>\(String(repeating: "x", count: 5000))</string>", "too-large"),
        ("<array>\(String(repeating: "<array/>", count: 500))</array>", "too-large"),
        ("<dict>\(String(repeating: "<key>a</key><true/>", count: 200))</dict>", "too-large"),
    ])
    func xmlPlistElementsBeyondTheLimitsAreSkipped(element: String, code: String) throws {
        let text = xmlPlist("<array>\(Self.good)\(element)\(Self.good)</array>")
        #expect(try readManifest(text, limits: Self.limits).words == [Self.url, code, Self.url])
        let member = xmlPlist(
            "<dict><key>x</key>\(element)<key>apps</key><array>\(Self.good)</array></dict>")
        #expect(try readManifest(member, limits: Self.limits).words == [Self.url])
    }

    @Test func elementsOfTheMaximumDepthAreRead() throws {
        let nested =
            String(repeating: "<array>", count: 8) + String(repeating: "</array>", count: 8)
        let text = xmlPlist("<array>\(nested)</array>")
        #expect(try readManifest(text, limits: Self.limits).words == ["not-a-dictionary"])
    }

    @Test func extremeNestingIsRefused() throws {
        let text = "<plist>" + String(repeating: "<array>", count: 200_000)
        #expect(try manifestError(text)?.code == .tooDeep)
    }

    @Test func anOverlongKeyOfTheDocumentIsRefused() throws {
        let text = xmlPlist("<dict><key>\(String(repeating: "x", count: 2000))</key><true/></dict>")
        #expect(try manifestError(text, limits: Self.limits)?.code == .tooLarge)
    }
}
