import NIOCore

/// How long connections may take for what.
struct ConnectionLimits: Sendable {
    /// From a head's first byte to its last.
    let head: TimeAmount
    /// Without a request.
    let idle: TimeAmount
    /// Without a request, if others wait for a connection.
    let idleIfCrowded = TimeAmount.seconds(2)
    /// Without the client's taking anything.
    let stall: TimeAmount
    /// From the last response to the client's own end of the connection.
    let farewell = TimeAmount.seconds(2)

    init(_ configuration: ServerConfiguration) {
        head = TimeAmount(configuration.headTimeout)
        idle = TimeAmount(configuration.idleTimeout)
        stall = TimeAmount(configuration.stallTimeout)
    }
}
