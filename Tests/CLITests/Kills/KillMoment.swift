import LarderTestSupport

/// The moment at which a round's command is killed.
enum KillMoment: CustomStringConvertible {
    /// Instead of this call that changes the cache. The first is 1. No clock is needed.
    case call(Int)
    /// This long after the start.
    case elapsed(seconds: Double)
    /// This long after the origin has received this number of requests.
    case requests(Int, thenSeconds: Double)

    /// Draws a moment for a prefetch that makes `requests` requests in about `seconds`. A commit
    /// starts at each of `commits` and takes about `spread` seconds.
    ///
    /// Half of the moments are arbitrary. The other half are shortly after the start of a commit,
    /// while files are synced, renamed and recorded.
    static func random(
        requests: Int, seconds: Double, commits: [KillMoment], spread: Double,
        using random: inout Pseudorandom
    ) -> KillMoment {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            return .elapsed(seconds: .random(in: 0...seconds, using: &random))
        case 1:
            return .requests(
                .random(in: 1...requests, using: &random),
                thenSeconds: .random(in: 0...0.005, using: &random))
        default:
            let commit = commits.randomElement(using: &random) ?? .elapsed(seconds: 0)
            return commit.later(by: .random(in: 0...spread, using: &random))
        }
    }

    private func later(by delay: Double) -> KillMoment {
        switch self {
        case .call: self
        case .elapsed(let seconds): .elapsed(seconds: seconds + delay)
        case .requests(let count, let seconds): .requests(count, thenSeconds: seconds + delay)
        }
    }

    var description: String {
        switch self {
        case .call(let number): "instead of change \(number)"
        case .elapsed(let seconds): "\(seconds) s after its start"
        case .requests(let count, let seconds): "\(seconds) s after request \(count)"
        }
    }
}
