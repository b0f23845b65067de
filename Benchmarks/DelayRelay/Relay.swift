#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A relay with one thread, which polls for connections, bytes and due times.
struct Relay {
    private let listener: Int32
    private let target: UInt16
    private let delay: Duration
    private var lines: [Line] = []

    /// Nil if the relay cannot listen. `errno` has the reason.
    init?(port: UInt16, target: UInt16, delay: Duration) {
        (self.target, self.delay) = (target, delay)
        listener = LoopbackSocket.listening(on: port)
        guard listener >= 0 else { return nil }
    }

    mutating func run() -> Never {
        while true {
            let now = ContinuousClock.now
            var waiting = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
            for line in lines { waiting += line.descriptors(at: now) }
            // Bytes that are already due wait for the receiver, not for a time.
            let due = lines.compactMap(\.due).filter { $0 > now }.min()
            poll(&waiting, nfds_t(waiting.count), due.map { Self.milliseconds($0 - now) } ?? -1)
            if waiting[0].revents != 0 { accept() }
            for line in lines { line.transfer(delay) }
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

    /// Rounds up, because a poll that ends too early would be repeated.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        Int32((duration / .milliseconds(1)).rounded(.up))
    }
}
