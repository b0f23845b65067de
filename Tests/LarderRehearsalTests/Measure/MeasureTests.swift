import Foundation
import Testing

@testable import LarderRehearsal

@Suite struct MeasureTests {
    @Test func waitsByPercent() throws {
        var waits = WaitTimes()
        #expect(waits.percentile(50) == nil)
        for number in 1...1000 { waits.add(.milliseconds(number)) }
        waits.add(.seconds(-1))
        waits.add(.seconds(1_000_000))
        #expect(waits.count == 1002)
        // To three digits.
        for (percent, seconds) in [(50.0, 0.5), (95.0, 0.95), (99.0, 0.99)] {
            let value = try #require(waits.percentile(percent))
            #expect(abs(value - seconds) < seconds * 0.01)
        }
    }

    @Test func framesThatAreLate() {
        var frames = FrameTimes()
        for milliseconds in [1, 16, 17, 40] { frames.add(.milliseconds(milliseconds)) }
        #expect(frames.count == 4)
        #expect(frames.frozen == 2)
        #expect(frames.longest == 0.04)
    }

    @Test func residentMemoryGrowsWithWhatIsHeld() {
        let before = ResidentMemory.now
        #expect(before > 1 << 20)
        // Much more than other tests may free meanwhile.
        let bytes = [UInt8](repeating: 1, count: 512 << 20)
        #expect(withExtendedLifetime(bytes) { ResidentMemory.now } > before + (128 << 20))
    }
}
