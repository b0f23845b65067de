#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// TCP sockets on 127.0.0.1 without Nagle's algorithm, whose delay would add to the relay's own.
enum LoopbackSocket {
    /// Returns -1 on failure.
    static func listening(on port: UInt16) -> Int32 {
        let listener = socket(AF_INET, stream, 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 128) == 0,
            fcntl(listener, F_SETFL, O_NONBLOCK) == 0
        else { return -1 }
        return listener
    }

    /// Returns the next waiting connection, or nil if there is none.
    static func accepted(by listener: Int32) -> Int32? {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return nil }
        disableNagle(connection)
        return connection
    }

    /// Returns a new connection, or nil if it is refused.
    static func connected(to port: UInt16) -> Int32? {
        let connection = socket(AF_INET, stream, 0)
        guard withAddress(port, { connect(connection, $0, $1) }) == 0 else {
            close(connection)
            return nil
        }
        disableNagle(connection)
        return connection
    }

    private static func disableNagle(_ connection: Int32) {
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size)
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    #if canImport(Darwin)
        private static let stream = SOCK_STREAM
    #else
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #endif
}
