/// A scroll that needs no file.
package enum ScrollPattern: String, Sendable, CaseIterable {
    /// From the first row to the last, half a screen a second.
    case slow
    /// To the last row by flings, each ten screens a second at first, until friction ends it.
    case fling
    /// To the last row and back, two screens a second.
    case thereAndBack = "there-and-back"
    /// To twenty places all over the table, a second at each, and to the same ones again.
    case jump

    /// The scroll through a table.
    ///
    /// - Parameters:
    ///   - rows: how many rows it has.
    ///   - visible: how many are visible at a time.
    package func trace(rows: Int, visible: Int) -> ScrollTrace {
        let last = max(0, rows - visible)
        let screen = Double(visible)
        func event(_ time: Double, _ first: Int) -> ScrollEvent {
            ScrollEvent(time: time, first: first, visible: visible)
        }
        switch self {
        case .slow:
            return ScrollTrace((0...last).map { event(Double($0) / (screen / 2), $0) })
        case .thereAndBack:
            let speed = screen * 2
            let there = (0...last).map { event(Double($0) / speed, $0) }
            let back = (0..<last).reversed().map { event(Double(2 * last - $0) / speed, $0) }
            return ScrollTrace(there + back)
        case .fling:
            return ScrollTrace(Self.flings(to: last, screen: screen).map(event))
        case .jump:
            // Multiples of the golden ratio lie evenly spread, however many they are.
            let places = (0..<20).map { number in
                let share = (Double(number) * 0.618_033_988_75)
                    .truncatingRemainder(dividingBy: 1)
                return Int(share * Double(last))
            }
            return ScrollTrace(
                (places + places).enumerated().map { event(Double($0), $1) })
        }
    }

    /// The time and the first row whenever that is another one.
    private static func flings(to last: Int, screen: Double) -> [(Double, Int)] {
        let frame = 1 / 60.0
        // A table view's normal deceleration: what is left of the speed after each millisecond is
        // 0.998 of it, so 0.967 after a frame.
        let friction = 0.9672
        var events: [(Double, Int)] = [(0, 0)]
        var (time, place, speed, first) = (0.0, 0.0, 10 * screen, 0)
        while first < last {
            time += frame
            place += speed * frame
            speed *= friction
            if speed < screen / 10 {
                // The finger comes back.
                time += 0.5
                speed = 10 * screen
            }
            let row = min(last, Int(place))
            if row > first {
                first = row
                events.append((time, row))
            }
        }
        return events
    }
}
