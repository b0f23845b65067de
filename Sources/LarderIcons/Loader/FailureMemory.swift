import Foundation

/// Which icons could not be got, each for a time: a server without an icon is not to be asked for
/// it whenever its row appears.
struct FailureMemory {
    /// So many are remembered; what would be forgotten first makes room.
    static let limit = 4096
    /// Nobody is left alone for longer, whatever a server says.
    static let longest: TimeInterval = 86_400

    private var failures: [String: (failure: IconFailure, until: Date)] = [:]

    var count: Int { failures.count }

    /// The failure of `key`, if it is not over at `now`.
    mutating func failure(of key: String, at now: Date) -> IconFailure? {
        guard let (failure, until) = failures[key] else { return nil }
        if now < until { return failure }
        failures[key] = nil
        return nil
    }

    mutating func remember(
        _ failure: IconFailure, of key: String, for lifetime: TimeInterval, at now: Date
    ) {
        guard lifetime > 0 else { return }
        let seconds = min(max(lifetime, failure.retryAfter ?? 0), Self.longest)
        if failures.count >= Self.limit { makeRoom(at: now) }
        failures[key] = (failure, now + seconds)
    }

    mutating func forget(_ key: String) { failures[key] = nil }

    mutating func forgetAll() { failures = [:] }

    /// Forgets what is over, and of the rest the half that will be first.
    private mutating func makeRoom(at now: Date) {
        failures = failures.filter { now < $0.value.until }
        guard failures.count >= Self.limit else { return }
        let times = failures.values.map(\.until).sorted()
        let median = times[times.count / 2]
        failures = failures.filter { $0.value.until > median }
    }
}
