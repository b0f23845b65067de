import Foundation
import Synchronization

/// A thread that writes a child's input, reads both of its outputs and reaps it.
final class ProcessWatch: Sendable {
    private struct State {
        var outputs = [Data(), Data()]
        var isReaped = false
        var finished: Finished?
    }

    private let pid: Int32
    private let start = ContinuousClock.now
    private let state = Mutex(State())
    private let ending = DispatchGroup()
    private let stateChanged = NSCondition()

    /// Starts the thread. It closes the descriptors.
    init(_ process: SpawnedProcess, standardInput: Data) {
        pid = process.pid
        ending.enter()
        startThread { [self] in
            let peak = exchange(process, standardInput)
            reap(sampledPeak: peak)
            ending.leave()
            notifyWaiters()
        }
    }

    var outputs: (String, String) {
        let outputs = state.withLock { $0.outputs }
        return (
            String(decoding: outputs[0], as: UTF8.self), String(decoding: outputs[1], as: UTF8.self)
        )
    }

    /// Sends a signal unless the process is reaped. The lock is held, because the id of a reaped
    /// process can be reused.
    func kill(_ signal: Int32) {
        state.withLock { state in
            if !state.isReaped { _ = Foundation.kill(pid, signal) }
        }
    }

    func wait(seconds: Double) -> Finished? {
        _ = ending.wait(timeout: .now() + seconds)
        return state.withLock { $0.finished }
    }

    /// Waits until the outputs satisfy a condition, the process has ended or the time is over.
    ///
    /// - Returns: Whether the outputs satisfy the condition.
    func wait(seconds: Double, until isEnough: (String, String) -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        stateChanged.lock()
        defer { stateChanged.unlock() }
        while true {
            let isEnded = state.withLock { $0.finished != nil }
            let (output, error) = outputs
            if isEnough(output, error) { return true }
            guard !isEnded, stateChanged.wait(until: end) else { return false }
        }
    }

    private func notifyWaiters() {
        stateChanged.lock()
        stateChanged.broadcast()
        stateChanged.unlock()
    }

    /// Writes the input and reads until both outputs are closed. Returns the sampled peak memory.
    private func exchange(_ process: SpawnedProcess, _ standardInput: Data) -> Int? {
        blockBrokenPipeSignal()
        var rest = standardInput[...]
        var input = process.input
        if let input { _ = fcntl(input, F_SETFL, O_NONBLOCK) }
        var readers: [Int32?] = [process.output, process.error]
        var peak: Int?
        func finishInput() {
            if let input { close(input) }
            input = nil
        }
        if rest.isEmpty { finishInput() }
        while readers.contains(where: { $0 != nil }) {
            // `poll` ignores negative descriptors.
            var polled = readers.map { pollfd(fd: $0 ?? -1, events: Int16(POLLIN), revents: 0) }
            polled.append(pollfd(fd: input ?? -1, events: Int16(POLLOUT), revents: 0))
            _ = poll(&polled, nfds_t(polled.count), PeakMemory.samplingMilliseconds)
            peak = PeakMemory.sample(pid) ?? peak
            for index in readers.indices where polled[index].revents != 0 {
                guard let reader = readers[index], !receive(reader, index) else { continue }
                close(reader)
                readers[index] = nil
            }
            if polled[2].revents != 0, let descriptor = input {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                if count >= 0 { rest = rest.dropFirst(count) }
                if rest.isEmpty || (count < 0 && errno != EAGAIN && errno != EINTR) {
                    finishInput()
                }
            }
        }
        finishInput()
        return peak
    }

    /// Reads some output; false at its end.
    private func receive(_ descriptor: Int32, _ index: Int) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { space in
            let count = read(descriptor, space.baseAddress, space.count)
            guard count > 0 else { return count < 0 && errno == EINTR }
            state.withLock { $0.outputs[index].append(contentsOf: space.prefix(count)) }
            notifyWaiters()
            return true
        }
    }

    private func reap(sampledPeak: Int?) {
        // Waits without reaping first, so that the id stays valid for `kill`.
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        state.withLock { state in
            var raw: Int32 = 0
            var usage = rusage()
            while wait4(pid, &raw, 0, &usage) < 0, errno == EINTR {}
            state.isReaped = true
            let signal = raw & 0x7F
            state.finished = Finished(
                status: signal == 0 ? (raw >> 8) & 0xFF : -signal,
                standardOutputBytes: state.outputs[0], standardErrorBytes: state.outputs[1],
                peakMemoryBytes: PeakMemory.bytes(of: usage, sampled: sampledPeak),
                duration: start.duration(to: .now))
        }
    }

    /// Blocks SIGPIPE, so that `write` fails with EPIPE instead if a child closes its input.
    private func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
