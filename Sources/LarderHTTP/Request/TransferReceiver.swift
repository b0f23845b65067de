/// Receives the events of a transfer.
///
/// All calls come on the loop's thread: do not block. For each transfer they come in order: whether
/// it may begin, at most one head, any number of bytes, exactly one end. (A transfer started after
/// ``TransferLoop/shutdown()`` ends within `start`.)
package protocol TransferReceiver: AnyObject, Sendable {
    /// Whether the transfer may begin. Default: true. If false, it ends as
    /// ``TransferError/Code-swift.enum/abandoned``, and nothing is sent.
    func transferMayBegin(_ id: TransferID) -> Bool

    /// Receives the head of the final response.
    ///
    /// - Returns: False to refuse the body: the transfer then ends as
    ///   ``TransferError/Code-swift.enum/abandoned``.
    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool

    /// The next bytes of the body, decoded, valid during the call only.
    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// The end. The loop lets go of the receiver after this.
    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>)
}

extension TransferReceiver {
    /// Yes.
    package func transferMayBegin(_ id: TransferID) -> Bool { true }
}

/// A receiver's answer to bytes.
package enum ReceiveVerdict: Sendable {
    /// They are taken; go on.
    case proceed
    /// They are not taken; deliver them again, perhaps with more, after
    /// ``TransferLoop/resume(_:)``. A paused transfer does not stall, but its total timeout runs.
    case pause
    /// No more; the transfer ends as ``TransferError/Code-swift.enum/abandoned``.
    case stop
}

/// What a whole transfer took.
package struct TransferMetrics: Hashable, Sendable {
    /// Bytes of the body as they came over the wire, before any decoding.
    package var receivedBytes: Int64
    /// From the hand-over to libcurl to the last byte; waiting for a turn is not in it.
    package var total: Duration
    /// Whether the connection had been made by an earlier transfer.
    package var reusedConnection: Bool
}
