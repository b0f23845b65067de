#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The bytes in one direction of a connection, with the times at which they are passed on.
struct DelayedBytes {
    private var chunks: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
    private var sentOfFirst = 0
    private var held = 0
    private var hasEnded = false
    private var hasFailed = false
    private let usableFrom: ContinuousClock.Instant

    /// The maximum number of buffered bytes, more than loopback transfers during the delay. Above
    /// it, nothing is read until the receiver reads.
    private static let capacity = 64 << 20

    private static let dontWait = Int32(MSG_DONTWAIT)

    init(usableFrom: ContinuousClock.Instant) { self.usableFrom = usableFrom }

    /// Whether all bytes were passed on, or the connection failed.
    var isOver: Bool { hasFailed || hasEnded && chunks.isEmpty }

    var due: ContinuousClock.Instant? { chunks.first?.due }

    func inlet(_ source: Int32) -> pollfd {
        pollfd(fd: isOpen ? source : -1, events: Int16(POLLIN), revents: 0)
    }

    func outlet(_ sink: Int32, at now: ContinuousClock.Instant) -> pollfd {
        let isDue = due.map { $0 <= now } ?? false
        return pollfd(fd: isDue ? sink : -1, events: Int16(POLLOUT), revents: 0)
    }

    /// Reads the available bytes without blocking.
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

    /// Writes the bytes that are due, without blocking.
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
