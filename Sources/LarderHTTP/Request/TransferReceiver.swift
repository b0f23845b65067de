/// Receives the events of a transfer.
///
/// All calls are on the loop's thread: do not block. For each transfer they come in order: whether
/// it may begin, at most one head, any number of bytes, exactly one end. (A transfer started after
/// ``TransferLoop/shutdown()`` ends within `start`.)
package protocol TransferReceiver: AnyObject, Sendable {
    /// Default: true. If false, nothing is sent, and the transfer ends as
    /// ``TransferError/Code-swift.enum/abandoned``.
    func transferMayBegin(_ id: TransferID) -> Bool

    /// Receives the head of the final response. If it returns false, the transfer ends as
    /// ``TransferError/Code-swift.enum/abandoned``.
    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool

    /// Receives the next decoded bytes of the body, valid during the call only.
    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// Receives the end. The loop then releases the receiver.
    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>)
}

extension TransferReceiver {
    package func transferMayBegin(_ id: TransferID) -> Bool { true }
}

/// A receiver's answer to bytes.
package enum ReceiveVerdict: Sendable {
    case proceed
    /// Deliver the bytes again, perhaps with more, after ``TransferLoop/resume(_:)``. A paused
    /// transfer does not stall, but its total timeout runs.
    case pause
    /// End the transfer as ``TransferError/Code-swift.enum/abandoned``.
    case stop
}

package struct TransferMetrics: Hashable, Sendable {
    /// Encoded bytes of the body.
    package var receivedBytes: Int64
    /// Without the wait for a slot.
    package var total: Duration
    package var reusedConnection: Bool
}
