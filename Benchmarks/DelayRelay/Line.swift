#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A client's connection, and the one to the origin that was made for it.
final class Line {
    let client: Int32
    let origin: Int32
    private var there: DelayedBytes
    private var back: DelayedBytes

    init(client: Int32, origin: Int32, usableFrom: ContinuousClock.Instant) {
        (self.client, self.origin) = (client, origin)
        there = DelayedBytes(usableFrom: usableFrom)
        back = DelayedBytes(usableFrom: usableFrom)
    }

    /// When the next bytes come out at either end.
    var due: ContinuousClock.Instant? {
        [there.due, back.due].compactMap(\.self).min()
    }

    /// What to wait for.
    func descriptors(at now: ContinuousClock.Instant) -> [pollfd] {
        [
            there.inlet(client), back.inlet(origin),
            there.outlet(origin, at: now), back.outlet(client, at: now),
        ]
    }

    /// Takes in what has come, and passes on what is due.
    func move(_ delay: Duration) {
        there.read(from: client, delay: delay)
        back.read(from: origin, delay: delay)
        there.write(to: origin)
        back.write(to: client)
    }

    /// Closes it when nothing more can reach one of its ends, and then is true.
    func closeIfOver() -> Bool {
        guard there.isOver || back.isOver else { return false }
        close(client)
        close(origin)
        return true
    }
}
