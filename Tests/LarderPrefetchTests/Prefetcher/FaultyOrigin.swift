import LarderTestSupport

/// The replies of an unreliable origin. They depend on a seed, so that a failed run can be
/// repeated.
struct FaultyOrigin: Sendable {
    let seed: Int
    /// The percentage of faulty responses.
    let percent: Int
    let faults: [Fault]
    /// The number of the first attempt at a path that always succeeds. Default: none.
    var recoversAt = Int.max

    enum Fault: CaseIterable {
        case internalError, overloaded, tooMany, gatewayTimeout, requestTimeout, patience, notFound
        case cut, reset, resetAtOnce, stall, trickle, delay, garbage, wrongLength, hugeHead, endless
        case redirectLoop, redirectAway, notAnImage, emptyBody, damaged

        /// Faults that a retry overcomes quickly.
        static let transient: [Fault] = [
            .internalError, .overloaded, .tooMany, .gatewayTimeout, .requestTimeout, .cut, .reset,
            .resetAtOnce, .wrongLength,
        ]
    }

    /// Returns the icon at a path. Each path has a different icon.
    static func icon(_ path: String) -> [UInt8] {
        Array(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><desc>\(path)</desc></svg>
            """.utf8)
    }

    func reply(to request: Request) -> Reply {
        let whole = Reply.ok(Self.icon(request.path), type: "image/svg+xml")
        guard request.attempt < recoversAt, let fault = fault(of: request) else { return whole }
        return switch fault {
        case .internalError: .status(500)
        case .overloaded: .status(503)
        case .tooMany: .status(429)
        case .gatewayTimeout: .status(504)
        case .requestTimeout: .status(408)
        case .patience: .status(429).header("Retry-After", "1")
        case .notFound: .status(404)
        case .cut: whole.cut(after: 20)
        case .reset: whole.reset(after: 20)
        case .resetAtOnce: whole.reset(after: 0)
        case .stall: whole.stalling(after: 20)
        case .trickle: whole.trickled(1, every: 0.1)
        case .delay: whole.delayed(0.3)
        case .garbage: .raw("SSH-2.0-OpenSSH_9.2\r\n")
        case .wrongLength: whole.announcing(length: 1000)
        case .hugeHead: whole.hugeHeaders(count: 100, bytes: 1000)
        case .endless: .endless([UInt8](repeating: 0x20, count: 10_000))
        case .redirectLoop: .redirect(to: request.path)
        case .redirectAway: .redirect(to: "file:///etc/passwd")
        case .notAnImage: .ok("<html>")
        case .emptyBody: .ok("")
        case .damaged: .ok(Self.icon(request.path).dropLast(3))
        }
    }

    private func fault(of request: Request) -> Fault? {
        var place = request.attempt
        for byte in request.path.utf8 { place = place &* 31 &+ Int(byte) }
        var random = Pseudorandom(seed: seed &* 1_000_003 &+ place)
        guard random.next(below: 100) < percent else { return nil }
        return faults.randomElement(using: &random)
    }
}
