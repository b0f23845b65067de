import Foundation
import Testing

@testable import LarderCache
@testable import LarderCore

/// Fields of combining marks, which took a quarter of a minute each while they were compared as
/// text.
@Suite(.timeLimit(.minutes(1))) struct CombiningMarksTests {
    private static let marks = "e" + String(repeating: "\u{301}\u{323}", count: 20_000)

    private func isQuick(_ body: () -> Void) -> Bool {
        let start = ContinuousClock.now
        body()
        return ContinuousClock.now - start < .seconds(2)
    }

    @Test(arguments: ["", "\"", "W/\"", ", ", "max-age=", "=", "Sun, 06 Nov 1994 "])
    func everyFieldIsReadInNoTime(prefix: String) {
        let text = prefix + Self.marks
        let twisted = prefix + "e" + String(repeating: "\u{323}\u{301}", count: 20_000)
        #expect(
            isQuick {
                let fields = Validators { _ in [text, twisted] }
                let others = Validators { _ in [twisted, text] }
                _ = fields.vouch(for: others)
                _ = fields.conditions()
                _ = Freshness.expiry(of: fields, receivedAt: Date())
                _ = Vary(text + "," + twisted).variant(for: [(text, twisted), ("Accept", text)])
                _ = CacheControl(text)
                _ = HTTPDate.parse(text)
            })
    }

    /// Text that means the same is not the same.
    @Test func equivalentTagsAreOthers() {
        var composed = Validators()
        composed.etag = "\"\u{E9}\""
        var decomposed = Validators()
        decomposed.etag = "\"e\u{301}\""
        #expect(!composed.vouch(for: decomposed))
        #expect(composed.vouch(for: composed))
    }
}
