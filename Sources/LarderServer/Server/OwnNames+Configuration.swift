import NIOCore

extension OwnNames {
    /// - Parameter address: what the server has got to listen on.
    init(_ configuration: ServerConfiguration, listeningOn address: SocketAddress?) {
        let number = address?.ipAddress ?? configuration.host
        self.init(
            host: configuration.host, address: number, port: address?.port ?? configuration.port,
            publicURL: configuration.publicURL,
            isLoopback: number.utf8.starts(with: "127.".utf8)
                || number.utf8.elementsEqual("::1".utf8),
            isMirror: configuration.isMirror)
    }
}
