import LarderTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Socket {
    /// Sends what the peer takes at this moment, if only nothing; nil where it is gone.
    package static func sendSome(_ socket: Int32, _ bytes: [UInt8]) -> Int? {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        while true {
            let count = systemSend(socket, bytes, bytes.count, flags)
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            guard errno == EINTR else { return nil }
        }
    }

    /// Receives what is there, if only nothing; nil where the peer is gone or says no more.
    package static func receiveSome(
        _ socket: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        while true {
            let count = recv(socket, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return count }
            if count < 0, errno == EAGAIN { return 0 }
            guard count < 0, errno == EINTR else { return nil }
        }
    }
}

/// `send` under a name that the type's own does not hide.
private func systemSend(
    _ socket: Int32, _ bytes: UnsafeRawPointer, _ count: Int, _ flags: Int32
) -> Int {
    send(socket, bytes, count, flags)
}
