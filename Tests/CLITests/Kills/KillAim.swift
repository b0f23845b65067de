import LarderTestSupport

/// Where in a command's life its kills fall: most of them instead of a call that changes the cache,
/// where a busy machine cannot move them; the others by the clock, in the midst of calls, too.
struct KillAim {
    private var seconds: KillSpan
    /// Nil: calls cannot be counted here.
    private var calls: KillSpan?

    /// - Parameter measured: a run that nobody killed: how long it lived, in seconds, and how many
    ///   such calls it made.
    init(_ measured: (life: Double, calls: Int?)) {
        seconds = KillSpan(life: measured.life, least: 0.004)
        calls = measured.calls.map { KillSpan(life: Double($0), least: 4) }
    }

    func draw(using random: inout Pseudorandom) -> KillMoment {
        guard let calls, random.next(below: 3) > 0 else {
            return .elapsed(seconds: seconds.draw(using: &random))
        }
        return .call(max(1, Int(calls.draw(using: &random))))
    }

    /// Follows a kill at `moment`.
    mutating func learn(_ moment: KillMoment, _ outcome: KillOutcome) {
        switch moment {
        case .call(let number): calls?.learn(Double(number), outcome)
        case .elapsed(let moment): seconds.learn(moment, outcome)
        case .requests: break
        }
    }
}
