import Foundation
import LarderTestSupport
import Testing

/// One manifest in four formats.
@Suite struct FormatsTests {
    @Test func allFormatsResultInTheSamePlanObjectsAndReport() async throws {
        try await withFixture { larder in
            larder.origin.onAny { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return number % 50 == 49 ? .status(404) : Icons.reply(number % 400)
            }
            let entries = Self.entries(larder.origin)
            var results: [Result] = []
            for (name, bytes) in try Self.files(entries) {
                let manifest = try larder.write(bytes, to: name)
                results.append(try Self.result(of: manifest, larder))
                try FileManager.default.removeItem(atPath: larder.cache)
            }
            let first = try #require(results.first)
            for result in results.dropFirst() {
                #expect(result.plan == first.plan)
                #expect(result.objects == first.objects)
                #expect(result.lines == first.lines)
            }
            #expect(first.plan.count == entries.count + 1)
            #expect(first.lines.count == entries.count)
            #expect(first.objects.count > 300)
            let outcomes = Set(first.lines.map(\.outcome))
            #expect(outcomes == ["fetched", "coalesced", "skipped", "failed"])
        }
    }

    private struct Result {
        let plan: [String]
        let objects: Set<String>
        let lines: [PrefetchRun.Line]
    }

    private static func result(of manifest: String, _ larder: CLIFixture) throws -> Result {
        let plan = try larder.run("plan", manifest, "--json")
        #expect(plan.status == 2)
        let run = try larder.prefetch(manifest)
        #expect(run.status == 2)
        #expect(try larder.verify() == 0)
        let list = try larder.run("list").standardOutput
        return Result(
            plan: plan.standardOutput.split(separator: "\n").map {
                withoutLine($0.replacingOccurrences(of: manifest, with: "M"))
            },
            objects: Set(list.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }),
            lines: run.lines.map { line in
                var line = line
                line.manifest = "M"
                line.seconds = 0
                line.error = line.error.map {
                    .init(code: $0.code, message: withoutLine($0.message))
                }
                return line
            }.sorted { $0.position < $1.position })
    }

    /// Removes line numbers, which differ between the formats.
    private static func withoutLine(_ text: String) -> String {
        text.replacing(#/line \d+: /#, with: "")
    }

    /// Returns 1,500 entries with about 970 URLs, duplicates, various priorities, and errors.
    private static func entries(_ origin: Origin) -> [ManifestEntry] {
        let priorities: [any Sendable] = ["veryHigh", "high", 17, "low", -3, "veryLow"]
        var random = Pseudorandom(seed: 1)
        return (0..<1500).map { number in
            let url = origin.url(
                "/\(random.next(below: 1600))", host: number % 3 == 0 ? "localhost" : "127.0.0.1")
            var entry: ManifestEntry = [
                "name": "App <\(number)> & \"co\" — 日本 🍎", "icon": url, "download": "\(number) k",
            ]
            switch random.next(below: 20) {
            case 0: entry["icon"] = nil
            case 1: entry["icon"] = number
            case 2: entry["icon"] = "javascript:alert(\(number))"
            case 3: entry["priority"] = "urgent"
            case 4: entry["size"] = 12
            case 5: entry["sha256"] = String(repeating: "ab", count: 32)
            case 6...12: entry["priority"] = priorities[random.next(below: priorities.count)]
            default: break
            }
            return entry
        }
    }

    private static func files(_ entries: [ManifestEntry]) throws -> [(String, Data)] {
        let lines = try entries.map { try JSONSerialization.data(withJSONObject: $0) }
        let newline = Data("\n".utf8)
        return [
            ("apps.plist", try plist(entries, .xml)),
            ("apps.binary.plist", try plist(entries, .binary)),
            (
                "apps.json",
                try JSONSerialization.data(
                    withJSONObject: ["apps": entries], options: .prettyPrinted)
            ),
            ("apps.jsonl", Data(lines.map { $0 + newline }.joined())),
        ]
    }

    private static func plist(
        _ entries: [ManifestEntry], _ format: PropertyListSerialization.PropertyListFormat
    ) throws -> Data {
        try PropertyListSerialization.data(fromPropertyList: entries, format: format, options: 0)
    }
}
