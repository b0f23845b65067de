import Foundation
import Testing

@testable import LarderCache
@testable import LarderHTTP

/// The seeds of the fuzz targets for response heads and Vary, including inputs from past findings.
/// `Scripts/fuzz` searches for more.
@Suite(.timeLimit(.minutes(1))) struct HeadSeedTests {
    private static let seeds = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../../Fuzz/Seeds")

    private static func names(of target: String) -> [String] {
        let path = seeds.appendingPathComponent(target).path
        return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    private func bytes(_ target: String, _ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Self.seeds.appendingPathComponent("\(target)/\(name)")))
    }

    @Test(arguments: ["headers", "vary", "index"]) func theFuzzTargetHasSeeds(target: String) {
        #expect(!Self.names(of: target).isEmpty)
    }

    /// Parses a seed as a response head and derives validators and freshness from it.
    @Test(arguments: names(of: "headers")) func headSeedsAreParsed(name: String) throws {
        var parser = ResponseHeadParser(maximumBytes: 64 << 10, maximumFields: 256)
        var head: ResponseHead?
        for line in try bytes("headers", name).split(separator: 0x0A) {
            // Lines of a seed may be invalid. The checks below use the last complete head.
            head = (try? (line + [0x0A]).withUnsafeBytes { try parser.add($0) }) ?? head
        }
        let found = try #require(head)
        let fields = Validators(found.headers.all)
        #expect(fields.vouch(for: fields))
        #expect(Freshness.expiry(of: fields, receivedAt: Date()).timeIntervalSince1970.isFinite)
    }

    @Test(arguments: names(of: "vary")) func varySeedsAreParsed(name: String) throws {
        let lines = try bytes("vary", name).split(separator: 0x0A)
        let vary = Vary(String(decoding: lines[0], as: UTF8.self))
        #expect(Vary(vary.names.joined(separator: ",")).names == vary.names)
    }
}
