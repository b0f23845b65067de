/// What a whole transfer took.
package struct TransferMetrics: Hashable, Sendable {
    /// Bytes of the body as they came over the wire, before any decoding.
    package var receivedBytes: Int64
    /// From the hand-over to libcurl to the last byte; waiting for a turn is not in it.
    package var total: Duration
    /// Whether the connection had been made by an earlier transfer.
    package var reusedConnection: Bool
}
