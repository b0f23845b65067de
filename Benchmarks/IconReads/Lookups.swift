import Foundation

/// A fixed pseudorandom sequence of look-ups. All keys are present.
struct Lookups: Sendable {
    let keys: [String]
    let order: [Int]

    init(of count: Int, in total: Int) {
        keys = (0..<count).map { Self.key($0) }
        var order: [Int] = []
        var state: UInt64 = 1
        for _ in 0..<total {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            order.append(Int(state >> 33) % count)
        }
        self.order = order
    }

    /// Returns a URL of realistic length, in a new string, as in apps.
    static func key(_ number: Int) -> String {
        "https://icons.example.com/apps/\(number)/artwork/512x512bb.png"
    }

    func rate(threads: Int, _ look: @escaping @Sendable (String) -> Int) -> Double {
        let done = DispatchGroup()
        let start = ContinuousClock.now
        for _ in 0..<threads {
            done.enter()
            Thread.detachNewThread {
                var found = 0
                for number in order { found += look(keys[number]) }
                precondition(found >= order.count, "a key was not found")
                done.leave()
            }
        }
        done.wait()
        return Double(threads * order.count) / ((ContinuousClock.now - start) / .seconds(1))
    }
}
