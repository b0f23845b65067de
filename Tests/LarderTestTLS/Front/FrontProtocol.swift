/// What a client's connection speaks above TLS.
protocol FrontProtocol: AnyObject {
    /// Takes what the client says.
    func receive(_ bytes: [UInt8])
    /// More that is to be said to it, now that there is room.
    func takeOutgoing() -> [UInt8]
    /// The client is gone: nothing is asked of the origin any more.
    func end()
}
