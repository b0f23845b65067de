/// The protocol of a client's connection on top of TLS.
protocol FrontProtocol: AnyObject {
    /// Processes decrypted bytes from the client.
    func receive(_ bytes: [UInt8])
    /// Returns more bytes to send, because the send buffer has room.
    func takeOutgoing() -> [UInt8]
    /// Cancels the requests to the origin, because the client's connection is closed.
    func end()
}
