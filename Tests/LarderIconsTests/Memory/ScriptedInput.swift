#if os(Linux)
    import Foundation
    import LarderCache
    import LarderIcons

    /// An input that is always ready: a pipe with a byte that nobody reads.
    struct ScriptedInput: PressureInput {
        enum Script: Sendable { case levels([MemoryPressure.Level]), failure, silence }

        let name = "script"
        let descriptor: OwnedDescriptor
        var events: Int16 { Int16(POLLIN) }
        private let script: Script
        private var next = 0

        /// The other end, at which a test sees when the input is closed.
        let far: OwnedDescriptor

        init(_ script: Script) {
            var ends: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0)
            descriptor = OwnedDescriptor(ends[0])
            far = OwnedDescriptor(ends[1])
            if case .silence = script {} else { send(far.raw, "!", 1, 0) }
            self.script = script
        }

        mutating func level(after events: Int16) throws(CacheError) -> MemoryPressure.Level? {
            guard case .levels(let levels) = script else {
                throw CacheError(.missing, subject: name, message: "gone")
            }
            defer { next += 1 }
            return levels[next % levels.count]
        }
    }

    /// Whether the other end of a descriptor is closed within half a minute. Waits in poll(2).
    func isClosed(beyond descriptor: OwnedDescriptor) -> Bool {
        var wait = [pollfd(fd: descriptor.raw, events: 0, revents: 0)]
        while poll(&wait, 1, 30_000) < 0, errno == EINTR {}
        return wait[0].revents & Int16(POLLHUP) != 0
    }
#endif
