import LarderManifest
import LarderServer
import LarderTestSupport
import NIOCore
import Testing

@testable import LarderServer

/// The pieces of a manifest's response. Each slow client keeps one in memory.
@Suite struct ManifestTextTests {
    @Test(arguments: [7, 300]) func piecesOfAManifestAreShortEvenWithALongBaseURL(_ count: Int)
        throws
    {
        // Short entries contain the most marks, which are replaced by the base URL.
        let entries = (0..<3_000).map { #"{"icon":"http://a/\#($0)"}"# }
        let manifest = "[\(entries.joined(separator: ","))]"
        let spool = try ManifestSpool(
            .bytes(Array(manifest.utf8), name: "m"), rules: ManifestRules())
        let base = String(repeating: "b", count: count)
        let text = ManifestText(spool, base: base)
        var whole: [UInt8] = []
        while let piece = try text.next() {
            #expect(piece.readableBytes > 0 && piece.readableBytes <= (8 << 10) + count)
            #expect(piece.capacity <= 32 << 10)
            whole += Array(piece.readableBytesView)
        }
        #expect(Int64(whole.count) == text.length)
        let lines = String(decoding: whole, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 3_002)
        for (number, line) in lines.dropFirst().dropLast().enumerated() {
            let end = number < 2_999 ? "," : ""
            #expect(line == #"{"icon":"\#(base)/icon?url=http://a/\#(number)"}\#(end)"#)
        }
    }
}
