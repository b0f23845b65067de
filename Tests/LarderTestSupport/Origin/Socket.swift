#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The blocking socket calls of the origin, with their platform differences.
///
/// Every descriptor is close-on-exec, so that processes that tests start do not inherit it.
package enum Socket {
    /// The two loopback addresses.
    package enum Address: String {
        case ipv4 = "127.0.0.1"
        case ipv6 = "[::1]"
    }

    /// Returns a stream socket bound to `address`. With port 0, the kernel chooses a port.
    package static func bound(to address: Address, port: UInt16) throws(OriginError) -> Int32 {
        let name = "\(address.rawValue):\(port)"
        let socket = try stream(address == .ipv4 ? AF_INET : AF_INET6)
        set(socket, SOL_SOCKET, SO_REUSEADDR, 1)
        let result =
            switch address {
            case .ipv4:
                withLoopback4(port) { bind(socket, $0, $1) }
            case .ipv6:
                withLoopback6(port) { bind(socket, $0, $1) }
            }
        guard result == 0 else {
            let error = OriginError("bind \(name)")
            close(socket)
            throw error
        }
        return socket
    }

    package static func listen(_ socket: Int32, backlog: Int32) throws(OriginError) {
        #if canImport(Darwin)
            guard Darwin.listen(socket, backlog) == 0 else { throw OriginError("listen") }
        #elseif canImport(Musl)
            guard Musl.listen(socket, backlog) == 0 else { throw OriginError("listen") }
        #else
            guard Glibc.listen(socket, backlog) == 0 else { throw OriginError("listen") }
        #endif
    }

    /// Returns the port to which a socket is bound.
    package static func port(of socket: Int32) throws(OriginError) -> UInt16 {
        // The port is at the same offset in IPv4 and IPv6 addresses.
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(socket, $0, &length)
            }
        }
        guard result == 0 else { throw OriginError("getsockname") }
        return UInt16(bigEndian: address.sin6_port)
    }

    /// Accepts the next connection; nil if that fails, for example because the peer has left.
    package static func accept(_ listener: Int32) -> Int32? {
        #if canImport(Darwin)
            let socket = Darwin.accept(listener, nil, nil)
        #elseif canImport(Musl)
            let socket = Musl.accept(listener, nil, nil)
        #else
            let socket = Glibc.accept(listener, nil, nil)
        #endif
        guard socket >= 0 else { return nil }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        #if canImport(Darwin)
            set(socket, SOL_SOCKET, SO_NOSIGPIPE, 1)
        #endif
        set(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    /// Starts connecting to a loopback port without waiting for the result.
    package static func startConnecting(toPort port: UInt16) throws(OriginError) -> Int32 {
        let socket = try stream(AF_INET)
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        let result = withLoopback4(port) { systemConnect(socket, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else {
            let error = OriginError("connect 127.0.0.1:\(port)")
            close(socket)
            throw error
        }
        return socket
    }

    /// Connects to a loopback port.
    ///
    /// - Parameter receiveBuffer: The size of the kernel's receive buffer in bytes, or nil for the
    ///   system's default.
    package static func connect(
        toPort port: UInt16, receiveBuffer: Int32? = nil
    ) throws(OriginError) -> Int32 {
        let socket = try stream(AF_INET)
        if let receiveBuffer { set(socket, SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
        guard withLoopback4(port, { systemConnect(socket, $0, $1) }) == 0 else {
            let error = OriginError("connect 127.0.0.1:\(port)")
            close(socket)
            throw error
        }
        set(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    /// Receives up to `buffer.count` bytes; nil if the stream has ended or the connection is lost.
    static func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = recv(socket, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return count }
            guard count < 0, errno == EINTR else { return nil }
        }
    }

    /// Sends all bytes; false if the connection is closed. Does not raise SIGPIPE.
    static func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            #if canImport(Darwin)
                let count = Darwin.send(socket, part.baseAddress, part.count, flags)
            #elseif canImport(Musl)
                let count = Musl.send(socket, part.baseAddress, part.count, flags)
            #else
                let count = Glibc.send(socket, part.baseAddress, part.count, flags)
            #endif
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Sends as many bytes as possible without waiting. Returns their number, or less than 1 if
    /// none.
    static func sendAtOnce(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
            Darwin.send(socket, bytes.baseAddress, bytes.count, MSG_DONTWAIT)
        #elseif canImport(Musl)
            Musl.send(
                socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        #else
            Glibc.send(
                socket, bytes.baseAddress, bytes.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        #endif
    }

    /// Makes the next `close` reset the connection (RST) instead of ending it (FIN).
    static func abortOnClose(_ socket: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Closes both directions, so that threads waiting on the socket wake up.
    package static func shutDown(_ socket: Int32) {
        _ = shutdown(socket, Int32(SHUT_RDWR))
    }

    private static func stream(_ family: Int32) throws(OriginError) -> Int32 {
        #if canImport(Glibc)
            let socket = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let socket = socket(family, SOCK_STREAM, 0)
        #endif
        guard socket >= 0 else { throw OriginError("socket") }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        return socket
    }

    private static func set(_ socket: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func withLoopback4(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func withLoopback6(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0[15] = 1 }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }
}

/// Calls the system's `connect`, which the method of ``Socket`` hides.
private func systemConnect(
    _ socket: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
    connect(socket, address, length)
}
