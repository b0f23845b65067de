import Foundation
import LarderTestSupport

extension Socket {
    /// Sends as many bytes as possible without blocking. Returns their number, which may be 0; nil
    /// if the connection is closed.
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

    /// Receives the available bytes, possibly none; nil if the connection is closed.
    ///
    /// If the socket is blocking, waits for the first byte.
    package static func receiveSome(_ socket: Int32) -> [UInt8]? {
        var isAtEnd = false
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            let received = receiveSome(socket, into: UnsafeMutableRawBufferPointer(buffer))
            isAtEnd = received == nil
            count = received ?? 0
        }
        return isAtEnd ? nil : bytes
    }

    private static func receiveSome(
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

/// Calls the system's `send`, which the method of ``Socket`` hides.
private func systemSend(
    _ socket: Int32, _ bytes: UnsafeRawPointer, _ count: Int, _ flags: Int32
) -> Int {
    send(socket, bytes, count, flags)
}
