import Foundation
import Testing

@testable import rehearse

@Suite struct MeasureTests {
    @Test func percentilesOfWaitsAreAccurate() throws {
        var waits = WaitTimes()
        #expect(waits.percentile(50) == nil)
        for number in 1...1000 { waits.add(.milliseconds(number)) }
        waits.add(.seconds(-1))
        waits.add(.seconds(1_000_000))
        #expect(waits.count == 1002)
        for (percent, seconds) in [(50.0, 0.5), (95.0, 0.95), (99.0, 0.99)] {
            let value = try #require(waits.percentile(percent))
            #expect(abs(value - seconds) < seconds * 0.01)
        }
    }

    @Test func lateFramesAreCountedAsFrozen() {
        var frames = FrameTimes()
        for milliseconds in [1, 16, 17, 40] { frames.add(.milliseconds(milliseconds)) }
        #expect(frames.count == 4)
        #expect(frames.frozen == 2)
        #expect(frames.longest == 0.04)
    }

    @Test func residentMemoryGrowsWithAllocations() {
        let before = ResidentMemory.now
        #expect(before > 1 << 20)
        // Much more than other tests may free at the same time.
        let bytes = [UInt8](repeating: 1, count: 512 << 20)
        #expect(withExtendedLifetime(bytes) { ResidentMemory.now } > before + (128 << 20))
    }
}

@Suite struct MemoryCurveTests {
    @Test(arguments: [1, 511, 512, 513, 1024, 100_000])
    func aCurveHasFewPointsAndKeepsItsPeak(_ samples: Int) {
        var curve = MemoryCurve()
        for number in 0..<samples {
            curve.add(time: Double(number), held: number * 7 % 1000, resident: Int64(number))
        }
        let points = curve.points
        #expect(points.count <= MemoryCurve.maximumPoints)
        #expect(points.count >= min(samples, MemoryCurve.maximumPoints / 2))
        #expect(points.first?.time == 0)
        #expect(zip(points, points.dropFirst()).allSatisfy { $0.time < $1.time })
        #expect(points.map(\.held).max() == (0..<samples).map { $0 * 7 % 1000 }.max())
        #expect(points.last?.resident == Int64(samples - 1))
    }

    @Test func aCurveKeepsFalls() {
        var curve = MemoryCurve()
        for number in 0..<5000 { curve.add(time: Double(number), held: number % 1000, resident: 0) }
        let falls = zip(curve.points, curve.points.dropFirst()).filter { $0.held > $1.held + 500 }
        #expect(falls.count == 4)
    }
}
