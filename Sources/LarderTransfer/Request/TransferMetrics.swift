/// What a whole transfer took.
package struct TransferMetrics: Hashable, Sendable {
    /// Bytes of the body as they came over the wire, before any decoding.
    package var receivedBytes: Int64
    /// From the hand-over to libcurl to the last byte; waiting for a turn is not in it.
    package var total: Duration
    /// Until the connection stood, TLS included; next to nothing on a reused one.
    package var connect: Duration
    /// Until the first byte of the response.
    package var firstByte: Duration
    /// Whether the connection had been made by an earlier transfer.
    package var reusedConnection: Bool
    /// The numeric IP address of the server.
    package var remoteAddress: String

    /// Metrics with these values.
    package init(
        receivedBytes: Int64, total: Duration, connect: Duration, firstByte: Duration,
        reusedConnection: Bool, remoteAddress: String
    ) {
        self.receivedBytes = receivedBytes
        self.total = total
        self.connect = connect
        self.firstByte = firstByte
        self.reusedConnection = reusedConnection
        self.remoteAddress = remoteAddress
    }
}
