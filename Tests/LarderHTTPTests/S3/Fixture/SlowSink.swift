import Dispatch
import LarderHTTP
import Synchronization

/// A sink that pauses before each piece.
final class SlowSink: Sendable {
    private let state = Mutex(State())

    private struct State {
        var bytes: [UInt8] = []
        var pauses = 0
        var isReady = false
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var pauses: Int { state.withLock { $0.pauses } }

    func make(_ resume: @escaping @Sendable () -> Void) -> ByteSink {
        { [self] bytes in
            let takes = state.withLock { state in
                if state.isReady {
                    state.bytes.append(contentsOf: bytes)
                } else {
                    state.pauses += 1
                }
                defer { state.isReady.toggle() }
                return state.isReady
            }
            if !takes { DispatchQueue.global().async(execute: resume) }
            return takes
        }
    }
}
