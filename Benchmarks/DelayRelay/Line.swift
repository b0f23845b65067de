#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A client's connection and its connection to the origin.
final class Line {
    let client: Int32
    let origin: Int32
    private var request: DelayedBytes
    private var response: DelayedBytes

    init(client: Int32, origin: Int32, usableFrom: ContinuousClock.Instant) {
        (self.client, self.origin) = (client, origin)
        request = DelayedBytes(usableFrom: usableFrom)
        response = DelayedBytes(usableFrom: usableFrom)
    }

    /// The time at which the next bytes are due.
    var due: ContinuousClock.Instant? { [request.due, response.due].compactMap(\.self).min() }

    /// The descriptors to poll.
    func descriptors(at now: ContinuousClock.Instant) -> [pollfd] {
        [
            request.inlet(client), response.inlet(origin),
            request.outlet(origin, at: now), response.outlet(client, at: now),
        ]
    }

    /// Reads available bytes, and writes those that are due.
    func transfer(_ delay: Duration) {
        request.read(from: client, delay: delay)
        response.read(from: origin, delay: delay)
        request.write(to: origin)
        response.write(to: client)
    }

    /// Closes both connections if one direction is over. Returns whether it is.
    func closeIfOver() -> Bool {
        guard request.isOver || response.isOver else { return false }
        close(client)
        close(origin)
        return true
    }
}
