import LarderTestSupport

/// The part of a command's duration in which it changes something, learned from the outcomes of
/// kills. The unit is seconds, which depend on the machine's load, or calls.
struct KillSpan {
    private var begin: Double
    private var end: Double
    private let life: Double
    private let least: Double
    /// The last moments of kills inside the span.
    private var hits: [Double] = []

    /// - Parameters:
    ///   - life: The duration of a complete run.
    ///   - least: The minimum length of the span, because kills are imprecise.
    init(life: Double, least: Double) {
        self.life = life
        self.least = least
        begin = life / 4
        end = life
    }

    /// Draws a moment. One in five is anywhere in the command's duration, two are close to an
    /// earlier moment inside the span, and the remaining ones are in or around the span.
    func draw(using random: inout Pseudorandom) -> Double {
        let way = random.next(below: 5)
        if way == 0 { return .random(in: 0...life, using: &random) }
        if way < 3, let hit = hits.randomElement(using: &random) {
            return max(0, hit + .random(in: -least...least, using: &random))
        }
        let margin = max((end - begin) / 8, least / 2)
        return .random(in: max(0, begin - margin)...(end + margin), using: &random)
    }

    /// Adjusts to the outcome of a kill at `moment`.
    mutating func learn(_ moment: Double, _ outcome: KillOutcome) {
        switch outcome {
        case .before: begin = max(begin, (begin + moment) / 2)
        case .inside:
            begin = min(begin, moment)
            end = max(end, moment)
            hits = hits.suffix(7) + [moment]
        case .after, .late: end = min(end, (end + moment) / 2)
        }
        if end < begin + least {
            let middle = (begin + end) / 2
            (begin, end) = (middle - least / 2, middle + least / 2)
        }
    }
}
