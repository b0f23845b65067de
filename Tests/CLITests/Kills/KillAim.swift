import LarderTestSupport

/// The moments at which a command is killed. Most kills replace a call that changes the cache, so
/// they do not depend on the machine's load. The rest are timed, and can also interrupt a call.
struct KillAim {
    private var seconds: KillSpan
    /// Nil if calls cannot be counted on this system.
    private var calls: KillSpan?

    /// - Parameter measured: The duration of a complete run in seconds, and its number of calls
    ///   that change the cache.
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

    /// Adjusts to the outcome of a kill at `moment`.
    mutating func learn(_ moment: KillMoment, _ outcome: KillOutcome) {
        switch moment {
        case .call(let number): calls?.learn(Double(number), outcome)
        case .elapsed(let moment): seconds.learn(moment, outcome)
        case .requests: break
        }
    }
}
