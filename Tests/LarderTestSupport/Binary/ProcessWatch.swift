import Foundation
import Synchronization

/// The thread that feeds a child, reads both its outputs at once and reaps it.
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
    /// Told of whatever changes in ``state``.
    private let news = NSCondition()

    /// Starts the thread, which closes the descriptors.
    init(_ process: SpawnedProcess, standardInput: Data) {
        pid = process.pid
        ending.enter()
        let thread = Thread { [self] in
            let peak = exchange(process, standardInput)
            reap(sampledPeak: peak)
            ending.leave()
            tell()
        }
        thread.stackSize = 512 << 10
        thread.start()
    }

    var outputs: (String, String) {
        let outputs = state.withLock { $0.outputs }
        return (
            String(decoding: outputs[0], as: UTF8.self), String(decoding: outputs[1], as: UTF8.self)
        )
    }

    /// Under the lock, because a reaped process's id may be somebody else's.
    func kill(_ signal: Int32) {
        state.withLock { state in
            if !state.isReaped { _ = Foundation.kill(pid, signal) }
        }
    }

    func wait(seconds: Double) -> Finished? {
        _ = ending.wait(timeout: .now() + seconds)
        return state.withLock { $0.finished }
    }

    /// Returns when the outputs are as wanted, the process has ended, or it has taken too long; and
    /// whether they are.
    func wait(seconds: Double, until isEnough: (String, String) -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        news.lock()
        defer { news.unlock() }
        while true {
            let isEnded = state.withLock { $0.finished != nil }
            let (output, error) = outputs
            if isEnough(output, error) { return true }
            guard !isEnded, news.wait(until: end) else { return false }
        }
    }

    private func tell() {
        news.lock()
        news.broadcast()
        news.unlock()
    }

    /// Writes and reads until both outputs have ended.
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
            // A negative descriptor is passed over.
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

    /// False at the end of the output.
    private func receive(_ descriptor: Int32, _ index: Int) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { space in
            let count = read(descriptor, space.baseAddress, space.count)
            guard count > 0 else { return count < 0 && errno == EINTR }
            state.withLock { $0.outputs[index].append(contentsOf: space.prefix(count)) }
            tell()
            return true
        }
    }

    private func reap(sampledPeak: Int?) {
        // First without reaping: until then the id is the child's, and `kill` may use it.
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

    /// A child that reads no more must not end the tests: this thread sees EPIPE instead.
    private func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
