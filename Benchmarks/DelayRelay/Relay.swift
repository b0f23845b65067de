#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// One thread that waits for whatever comes first: a connection, bytes, or the time to pass some
/// on.
struct Relay {
    private let listener: Int32
    private let target: UInt16
    private let delay: Duration
    private var lines: [Line] = []

    /// Nil where it cannot listen; `errno` says why.
    init?(port: UInt16, target: UInt16, delay: Duration) {
        (self.target, self.delay) = (target, delay)
        listener = LoopbackSocket.listening(on: port)
        guard listener >= 0 else { return nil }
    }

    /// Until the process is ended.
    mutating func run() -> Never {
        while true {
            let now = ContinuousClock.now
            var waiting = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
            for line in lines { waiting += line.descriptors(at: now) }
            // What is due already waits for room, not for time.
            let due = lines.compactMap(\.due).filter { $0 > now }.min()
            poll(&waiting, nfds_t(waiting.count), due.map { Self.milliseconds($0 - now) } ?? -1)
            if waiting[0].revents != 0 { accept() }
            for line in lines { line.move(delay) }
            lines.removeAll { $0.closeIfOver() }
        }
    }

    private mutating func accept() {
        while let client = LoopbackSocket.accepted(by: listener) {
            guard let origin = LoopbackSocket.connected(to: target) else {
                close(client)
                continue
            }
            lines.append(Line(client: client, origin: origin, usableFrom: .now + delay * 2))
        }
    }

    /// Rounded up: a poll that ends too early would only be repeated.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        Int32((duration / .milliseconds(1)).rounded(.up))
    }
}
