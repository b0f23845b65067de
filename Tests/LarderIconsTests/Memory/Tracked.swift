import Foundation

/// A thread-safe counter.
final class Count: @unchecked Sendable {
    // Unchecked because of its variable; every access holds `lock`.
    private let lock = NSLock()
    private var number = 0

    var value: Int { lock.withLock { number } }

    func add(_ more: Int = 1) { lock.withLock { number += more } }
}

/// Returns data that calls `whenFreed` when its bytes are freed.
func tracked(_ size: Int = 100, whenFreed: @escaping @Sendable () -> Void) -> Data {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
    return Data(
        bytesNoCopy: bytes, count: size,
        deallocator: .custom { bytes, _ in
            bytes.deallocate()
            whenFreed()
        })
}

/// Runs `body` on its own thread. Returns false if it has not ended after 30 seconds.
func ends(_ body: @escaping @Sendable () -> Void) -> Bool {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        done.signal()
    }
    return done.wait(timeout: .now() + 30) == .success
}
