import Foundation
import Testing

@testable import LarderCache
@testable import LarderCore

/// Fields with many combining marks. Comparing them as text took 15 seconds each.
@Suite(.timeLimit(.minutes(1))) struct CombiningMarksTests {
    private static let marks = "e" + String(repeating: "\u{301}\u{323}", count: 20_000)

    private func isFast(_ body: () -> Void) -> Bool {
        let start = ContinuousClock.now
        body()
        return ContinuousClock.now - start < .seconds(2)
    }

    @Test(arguments: ["", "\"", "W/\"", ", ", "max-age=", "=", "Sun, 06 Nov 1994 "])
    func fieldsWithManyCombiningMarksAreReadQuickly(prefix: String) {
        let text = prefix + Self.marks
        let reordered = prefix + "e" + String(repeating: "\u{323}\u{301}", count: 20_000)
        #expect(
            isFast {
                let fields = Validators { _ in [text, reordered] }
                let others = Validators { _ in [reordered, text] }
                _ = fields.vouch(for: others)
                _ = fields.conditions()
                _ = Freshness.expiry(of: fields, receivedAt: Date())
                _ = Vary(text + "," + reordered).variant(for: [(text, reordered), ("Accept", text)])
                _ = CacheControl(text)
                _ = HTTPDate.parse(text)
            })
    }

    /// ETags are compared as bytes.
    @Test func canonicallyEquivalentETagsDiffer() {
        var composed = Validators()
        composed.etag = "\"\u{E9}\""
        var decomposed = Validators()
        decomposed.etag = "\"e\u{301}\""
        #expect(!composed.vouch(for: decomposed))
        #expect(composed.vouch(for: composed))
    }
}
