#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// One direction of a line: bytes, each with the time at which it comes out at the other end.
struct DelayedBytes {
    private var chunks: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
    private var sentOfFirst = 0
    private var held = 0
    private var hasEnded = false
    private var hasFailed = false
    private let usableFrom: ContinuousClock.Instant

    /// More than a line of this delay and loopback's speed holds; a reader that does not read is
    /// held up.
    private static let room = 64 << 20

    private static let dontWait = Int32(MSG_DONTWAIT)

    init(usableFrom: ContinuousClock.Instant) { self.usableFrom = usableFrom }

    /// Whether nothing more comes out.
    var isOver: Bool { hasFailed || hasEnded && chunks.isEmpty }

    /// When the first bytes come out.
    var due: ContinuousClock.Instant? { chunks.first?.due }

    /// What to wait for where bytes come in.
    func inlet(_ source: Int32) -> pollfd {
        pollfd(fd: isOpen ? source : -1, events: Int16(POLLIN), revents: 0)
    }

    /// What to wait for where they come out; nothing before they are due.
    func outlet(_ sink: Int32, at now: ContinuousClock.Instant) -> pollfd {
        let isDue = due.map { $0 <= now } ?? false
        return pollfd(fd: isDue ? sink : -1, events: Int16(POLLOUT), revents: 0)
    }

    /// Takes what has come, without waiting for more.
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

    /// Passes on what is due, as far as it is taken without waiting.
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

    private var isOpen: Bool { !hasEnded && !hasFailed && held < Self.room }
}
