import Synchronization

/// Bytes that come piece by piece, from whichever thread.
final class CollectedBytes: Sendable {
    private let state = Mutex<[UInt8]>([])

    var bytes: [UInt8] { state.withLock { $0 } }

    func clear() { state.withLock { $0 = [] } }

    func append(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { $0.append(contentsOf: bytes) }
    }
}
