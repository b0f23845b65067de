import Foundation

/// Runs blocking work, such as waiting for a process, on a new thread.
///
/// On a thread of the cooperative pool it would delay other tests.
public func onThreadOfItsOwn<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Runs `body` on a new thread with a stack of 512 KiB.
func startThread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread { body() }
    thread.stackSize = 512 << 10
    thread.start()
}
