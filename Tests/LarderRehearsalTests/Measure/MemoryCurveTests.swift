import Testing

@testable import LarderRehearsal

@Suite struct MemoryCurveTests {
    @Test(arguments: [1, 511, 512, 513, 1024, 100_000])
    func fewPointsAndNoPeakLost(_ samples: Int) {
        var curve = MemoryCurve()
        for number in 0..<samples {
            curve.add(time: Double(number), held: number * 7 % 1000, resident: Int64(number))
        }
        let points = curve.points
        #expect(points.count <= MemoryCurve.mostPoints)
        #expect(points.count >= min(samples, MemoryCurve.mostPoints / 2))
        #expect(points.first?.time == 0)
        #expect(zip(points, points.dropFirst()).allSatisfy { $0.time < $1.time })
        #expect(points.map(\.held).max() == (0..<samples).map { $0 * 7 % 1000 }.max())
        #expect(points.last?.resident == Int64(samples - 1))
    }

    @Test func aFallIsSeen() {
        var curve = MemoryCurve()
        for number in 0..<5000 { curve.add(time: Double(number), held: number % 1000, resident: 0) }
        let falls = zip(curve.points, curve.points.dropFirst()).filter { $0.held > $1.held + 500 }
        #expect(falls.count == 4)
    }
}
