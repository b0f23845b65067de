import Foundation
import LarderCache
import LarderKit
import LarderTestSupport
import Testing

/// Icons that a manifest itself holds, as `data:` URLs.
@Suite struct InlineIconTests {
    private let icons = (1...3).map { IconPainter.png(seed: $0) }

    private func entry(_ icon: [UInt8], key: String? = nil) -> String {
        let url = "data:image/png;base64,\(Data(icon).base64EncodedString())"
        return #"{"icon":"\#(url)"\#(key.map { #","key":"\#($0)""# } ?? "")}"#
    }

    /// Its key was cached and fresh, and nobody looked at the bytes.
    @Test func anotherIconUnderTheKeyReplacesTheCached() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            for icon in [icons[0], icons[1]] {
                for outcome in [EntryResult.Outcome.fetched, .cached] {
                    let (report, _) = try await prefetch(
                        "[\(entry(icon, key: "logo"))]", into: path)
                    #expect(report.count(outcome) == 1, "\(report.text)")
                }
                let cache = try Cache.open(at: path)
                let resource = try #require(try cache.resource("logo"))
                #expect(try cache.bytes(of: resource.object) == icon)
            }
        }
    }

    @Test func twoIconsOfOneKeyAreNotTakenForEachOther() async throws {
        try await withTemporaryDirectory { directory in
            let entries = icons.prefix(2).map { entry($0, key: "logo") }.joined(separator: ",")
            let (report, _) = try await prefetch("[\(entries)]", into: directory.path("cache"))
            #expect(report.count(.fetched) == 1 && report.failures == ["integrity-mismatch": 1])
        }
    }

    /// It ended the run.
    @Test func oneThatIsObstructedStopsNoOther() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(icons[2]))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let objects = path + "/objects/sha256"
            try FileManager.default.createDirectory(
                atPath: objects, withIntermediateDirectories: true)
            let fanOut = ReferenceSHA256.hex(icons[0]).prefix(2)
            try Data([1]).write(to: URL(fileURLWithPath: "\(objects)/\(fanOut)"))
            let entries = icons.prefix(2).map { entry($0) } + [#"{"icon":"\#(origin.url("/a"))"}"#]
            let (report, _) = try await prefetch(
                "[\(entries.joined(separator: ","))]", into: path)
            #expect(report.failure == nil)
            #expect(report.failures == ["obstructed": 1] && report.count(.fetched) == 2)
        }
    }
}
