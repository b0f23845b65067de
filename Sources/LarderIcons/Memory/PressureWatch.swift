import LarderCache

#if os(Linux)
    import CLarderSystem
    import Foundation
    import LarderCache

    /// A thread that waits for memory pressure in poll(2), until this object is released.
    final class PressureWatch: Sendable {
        /// The thread has the other end, and ends when it hears that this one is closed.
        private let end: OwnedDescriptor

        /// Starts the thread.
        ///
        /// - Parameters:
        ///   - inputs: what to wait for. The thread closes them when it ends.
        ///   - interval: how long it waits after something happened before it looks again, because
        ///     limits are reached a hundred times a second when they are.
        ///   - report: called on the thread; must not keep this object.
        ///   - lose: the same, for an input that has ended.
        init(
            _ inputs: [any PressureInput], interval: Duration,
            report: @escaping @Sendable (MemoryPressure.Level) -> Void,
            lose: @escaping @Sendable (String, CacheError) -> Void
        ) throws(CacheError) {
            var ends: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
                throw CacheError("socketpair", subject: "larder.pressure", errno: errno)
            }
            end = OwnedDescriptor(ends[0])
            let wait = PressureWait(
                inputs: inputs, end: OwnedDescriptor(ends[1]), interval: interval,
                report: report, lose: lose)
            guard HelperThread.start({ wait.run() }) else { throw HelperThread.shortage }
        }
    }

    /// What the thread does.
    private final class PressureWait: @unchecked Sendable {
        // Unchecked because `inputs` is a variable; it is the thread's alone once that has started.
        private var inputs: [any PressureInput]
        private let end: OwnedDescriptor
        private let interval: Duration
        private let report: @Sendable (MemoryPressure.Level) -> Void
        private let lose: @Sendable (String, CacheError) -> Void

        init(
            inputs: [any PressureInput], end: OwnedDescriptor, interval: Duration,
            report: @escaping @Sendable (MemoryPressure.Level) -> Void,
            lose: @escaping @Sendable (String, CacheError) -> Void
        ) {
            self.inputs = inputs
            self.end = end
            self.interval = interval
            self.report = report
            self.lose = lose
        }

        func run() {
            while !inputs.isEmpty, let events = wait(for: inputs) {
                if let level = level(after: events) {
                    report(level)
                    // What was freed is the process's own until the allocator returns it.
                    #if canImport(Glibc)
                        malloc_trim(0)
                    #endif
                }
                guard wait(for: [], atMost: interval) != nil else { return }
            }
        }

        /// Waits until something happens at one of these, and returns what at each; nil when this
        /// object's owner is gone.
        private func wait(
            for inputs: [any PressureInput], atMost limit: Duration? = nil
        ) -> [Int16]? {
            let deadline = limit.map { ContinuousClock.now + $0 }
            var waits = [pollfd(fd: end.raw, events: Int16(POLLIN), revents: 0)]
            waits += inputs.map { pollfd(fd: $0.descriptor.raw, events: $0.events, revents: 0) }
            while true {
                // Rounded up, so that it never spins through the last millisecond.
                let left = deadline.map { max(.zero, $0 - .now) / .milliseconds(1) }
                let ready = poll(
                    &waits, nfds_t(waits.count), left.map { Int32(min($0.rounded(.up), 1e9)) } ?? -1
                )
                if ready < 0, errno == EINTR { continue }
                if ready < 0 {
                    let error = CacheError("poll", subject: "larder.pressure", errno: errno)
                    for input in self.inputs { lose(input.name, error) }
                    return nil
                }
                return waits[0].revents == 0 ? waits.dropFirst().map(\.revents) : nil
            }
        }

        /// The worst that has happened. What has ended is watched no more.
        private func level(after events: [Int16]) -> MemoryPressure.Level? {
            var worst: MemoryPressure.Level?
            for index in inputs.indices.reversed() where events[index] != 0 {
                do {
                    let level = try inputs[index].level(after: events[index])
                    worst = [worst, level].compactMap(\.self).max()
                } catch {
                    lose(inputs[index].name, error)
                    inputs.remove(at: index)
                }
            }
            return worst
        }
    }
#endif
