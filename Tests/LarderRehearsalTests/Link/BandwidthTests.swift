import Testing

@testable import LarderRehearsal

@Suite struct BandwidthTests {
    @Test func piecesComeOneAfterAnother() {
        var line = Bandwidth(bytesPerSecond: 1000)
        #expect(line.book(500, at: .zero) == .milliseconds(500))
        #expect(line.book(500, at: .milliseconds(100)) == .seconds(1))
        // It was free for a second, which nobody can have back.
        #expect(line.book(500, at: .seconds(2)) == .milliseconds(2500))
    }
}
