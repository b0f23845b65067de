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
            // Ignores bytes that are already due, because they wait for the receiver, not for a
            // time.
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

    /// Rounds up, because a poll that ends too early is repeated.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        Int32((duration / .milliseconds(1)).rounded(.up))
    }
}

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

    var due: ContinuousClock.Instant? { [request.due, response.due].compactMap(\.self).min() }

    func descriptors(at now: ContinuousClock.Instant) -> [pollfd] {
        [
            request.inlet(client), response.inlet(origin),
            request.outlet(origin, at: now), response.outlet(client, at: now),
        ]
    }

    func transfer(_ delay: Duration) {
        request.read(from: client, delay: delay)
        response.read(from: origin, delay: delay)
        request.write(to: origin)
        response.write(to: client)
    }

    /// Closes both connections if one direction has ended. Returns whether they were closed.
    func closeIfOver() -> Bool {
        guard request.isOver || response.isOver else { return false }
        close(client)
        close(origin)
        return true
    }
}

/// TCP sockets on 127.0.0.1 without Nagle's algorithm, which would add to the delay.
enum LoopbackSocket {
    /// Returns -1 on failure.
    static func listening(on port: UInt16) -> Int32 {
        let listener = socket(AF_INET, stream, 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 128) == 0,
            fcntl(listener, F_SETFL, O_NONBLOCK) == 0
        else { return -1 }
        return listener
    }

    /// Returns the next waiting connection, or nil.
    static func accepted(by listener: Int32) -> Int32? {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return nil }
        disableNagle(connection)
        return connection
    }

    /// Returns a new connection, or nil if it is refused.
    static func connected(to port: UInt16) -> Int32? {
        let connection = socket(AF_INET, stream, 0)
        guard withAddress(port, { connect(connection, $0, $1) }) == 0 else {
            close(connection)
            return nil
        }
        disableNagle(connection)
        return connection
    }

    private static func disableNagle(_ connection: Int32) {
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size)
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    #if canImport(Darwin)
        private static let stream = SOCK_STREAM
    #else
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #endif
}

/// The bytes in one direction of a connection, with the times to pass them on.
struct DelayedBytes {
    private var chunks: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
    private var sentOfFirst = 0
    private var held = 0
    private var hasEnded = false
    private var hasFailed = false
    private let usableFrom: ContinuousClock.Instant

    /// The maximum number of buffered bytes. The loopback interface transfers fewer bytes during
    /// the delay. If the buffer is full, no further bytes are read.
    private static let capacity = 64 << 20

    private static let dontWait = Int32(MSG_DONTWAIT)

    init(usableFrom: ContinuousClock.Instant) { self.usableFrom = usableFrom }

    /// Whether all bytes were passed on or the connection failed.
    var isOver: Bool { hasFailed || hasEnded && chunks.isEmpty }

    var due: ContinuousClock.Instant? { chunks.first?.due }

    func inlet(_ source: Int32) -> pollfd {
        pollfd(fd: isOpen ? source : -1, events: Int16(POLLIN), revents: 0)
    }

    func outlet(_ sink: Int32, at now: ContinuousClock.Instant) -> pollfd {
        let isDue = due.map { $0 <= now } ?? false
        return pollfd(fd: isDue ? sink : -1, events: Int16(POLLOUT), revents: 0)
    }

    mutating func read(from source: Int32, delay: Duration) {
        while isOpen {
            var got = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
                got = recv(source, buffer.baseAddress, buffer.count, Self.dontWait)
                count = max(0, got)
            }
            if got < 0 {
                hasFailed = errno != EAGAIN && errno != EINTR
                return
            }
            held += got
            hasEnded = got == 0
            let due = max(ContinuousClock.now, usableFrom) + delay
            if !hasEnded { chunks.append((due, bytes)) }
        }
    }

    mutating func write(to sink: Int32) {
        let now = ContinuousClock.now
        var done = 0
        while !hasFailed, done < chunks.count, chunks[done].due <= now {
            let sent = chunks[done].bytes.withUnsafeBytes {
                send(sink, $0.baseAddress! + sentOfFirst, $0.count - sentOfFirst, Self.dontWait)
            }
            if sent < 0 {
                hasFailed = errno != EAGAIN && errno != EINTR
                break
            }
            held -= sent
            sentOfFirst += sent
            if sentOfFirst == chunks[done].bytes.count {
                done += 1
                sentOfFirst = 0
            }
        }
        chunks.removeFirst(done)
    }

    private var isOpen: Bool { !hasEnded && !hasFailed && held < Self.capacity }
}
