import Foundation
import Testing

@testable import LarderManifest

@Suite struct ManifestReaderTests {
    private static func entry(_ number: Int) -> [String: any Sendable] {
        let name = number.isMultiple(of: 2) ? "应用 \(number) \"é\" 🍎" : "App \(number)"
        let icon = "https://host\(number % 7).example/icons/\(number).png?size=\(number)"
        let digit = String(number % 10)
        return [
            "name": name, "icon": icon, "download": ["https://example/\(number)", digit],
            "priority": number % 5 - 2, "size": number * 1000, "key": "key-\(number)",
            "sha256": String(repeating: digit, count: 64),
        ]
    }

    /// The same manifest in every format.
    private static let manifests = manifests(of: 2000)

    private static func manifests(
        of count: Int
    ) -> [(format: ManifestFormat, bytes: [UInt8])] {
        let entries = (1...count).map(entry)
        func xmlPlist(_ format: PropertyListSerialization.PropertyListFormat) -> [UInt8] {
            let data = try? PropertyListSerialization.data(
                fromPropertyList: ["apps": entries, "version": 1], format: format, options: 0)
            return Array(data ?? Data())
        }
        func json(_ value: Any) -> [UInt8] {
            Array((try? JSONSerialization.data(withJSONObject: value)) ?? Data())
        }
        return [
            (.xmlPlist, xmlPlist(.xml)), (.binaryPlist, xmlPlist(.binary)),
            (.json, json(["apps": entries, "version": 1] as [String: Any])),
            (.json, json(entries)), (.yaml, Array("# YAML\n".utf8) + json(entries)),
            (.jsonLines, entries.flatMap { json($0) + [0x0A] }),
        ]
    }

    @Test func allFormatsGiveTheSameEntries() throws {
        let expected = try readManifest(.bytes(Self.manifests[0].bytes, name: "xml")).entries
        #expect(expected.count == 2000)
        #expect(expected[1].name == "应用 2 \"é\" 🍎")
        #expect(expected[1].icon.string == "https://host2.example/icons/2.png?size=2")
        #expect(expected[1].priority == 0)
        #expect(expected[1].expectedSize == 2000)
        #expect(expected[1].key == "key-2")
        #expect(expected[1].expectedDigest?.hex == String(repeating: "2", count: 64))
        for (format, bytes) in Self.manifests {
            let reading = try readManifest(.bytes(bytes, name: "test"))
            #expect(reading.entries == expected, "\(format)")
            #expect(reading.summary == ManifestSummary(format: format, entries: 2000))
            #expect(reading.items.map(\.position) == Array(1...2000))
        }
    }

    /// A truncated manifest is refused. Truncated JSON Lines may instead lose their last entry.
    @Test func truncatedManifestsAreDetected() throws {
        for (format, bytes) in Self.manifests(of: 20) {
            for length in stride(from: 1, to: bytes.count - 8, by: 37) {
                let cut = ManifestSource.bytes(Array(bytes.prefix(length)), name: "cut")
                if format == .jsonLines {
                    let reading = try? readManifest(cut)
                    #expect(reading.map { $0.entries.count < 20 } ?? true)
                } else {
                    #expect(try manifestError(cut) != nil, "\(format) cut at \(length)")
                }
            }
        }
    }

    @Test func anErrorThrownByTheBodyEndsTheReading() throws {
        struct Enough: Error {}
        for (_, bytes) in Self.manifests {
            var count = 0
            #expect(throws: Enough.self) {
                try ManifestReader(source: .bytes(bytes, name: "test")).read { _ in
                    count += 1
                    if count == 10 { throw Enough() }
                }
            }
            #expect(count == 10)
        }
    }

    @Test func invalidEntriesDoNotAffectOtherEntries() throws {
        let json = """
            [{"icon": "https://a.example/1.png"}, {"name": "no icon"}, {"icon": 7}, 8,
             {"icon": "javascript:alert(1)"}, {"icon": "relative.png"},
             {"icon": "https://a.example/2.png"}]
            """
        let reading = try readManifest(json)
        #expect(
            reading.words == [
                "https://a.example/1.png", "skipped", "icon-not-a-string", "not-a-dictionary",
                "other-scheme", "relative", "https://a.example/2.png",
            ])
        #expect(reading.items.map(\.line) == [1, 1, 1, 1, 2, 2, 3])
        #expect(reading.items[1].name == "no icon")
    }

    @Test func errorsNameTheirSource() throws {
        let source = ManifestSource.bytes(Array("[1,,]".utf8), name: "a\u{1B}[31mpps.json")
        #expect(
            try manifestError(source)?.description
                == "a\\u{1B}[31mpps.json: line 1, column 4: expected a value, found ','")
    }
}
