import Foundation

extension Socket {
    #if canImport(Darwin)
        /// The event to poll for when the peer leaves: none, because `poll` always reports POLLHUP.
        private static let departure: Int16 = 0
    #else
        /// The event to poll for when the peer leaves: POLLRDHUP. Glibc declares it only with
        /// `_GNU_SOURCE`.
        private static let departure: Int16 = 0x2000
    #endif

    /// Returns whether the peer has closed its end, without waiting.
    static func isAbandoned(_ socket: Int32) -> Bool {
        !isAlive(socket, milliseconds: 0)
    }

    /// Waits for `seconds`, or without a limit if nil; false as soon as the peer leaves.
    static func pause(_ socket: Int32, seconds: Double?) -> Bool {
        guard let seconds else { return isAlive(socket, milliseconds: -1) }
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            let rest = ContinuousClock.now.duration(to: end)
            guard rest > .zero else { return !isAbandoned(socket) }
            let milliseconds = min(rest / .milliseconds(1), 1e6).rounded(.up)
            guard isAlive(socket, milliseconds: Int32(milliseconds)) else { return false }
        }
    }

    /// Waits until `gate` is open; false as soon as the peer leaves.
    static func pause(_ socket: Int32, until gate: Gate) -> Bool {
        var polled = [
            pollfd(fd: socket, events: departure, revents: 0),
            pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&polled, 2, -1) < 0, errno == EINTR {}
        return polled[0].revents == 0
    }

    /// Waits until a descriptor is readable, and returns the index of the first one.
    static func firstReadable(_ descriptors: [Int32]) -> Int? {
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
        return polled.firstIndex { $0.revents != 0 }
    }

    private static func isAlive(_ socket: Int32, milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: socket, events: departure, revents: 0)
        while poll(&polled, 1, milliseconds) < 0, errno == EINTR {}
        return polled.revents == 0
    }
}
