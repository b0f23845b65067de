import COpenSSL

/// One end of a TLS connection, without a socket. It takes bytes from the peer and provides bytes
/// for the peer.
package final class TLSStream {
    package enum Handshake { case inProgress, done, failed }

    private let context: TLSContext
    private let connection: OpaquePointer
    // The connection owns both.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    /// Whether the peer has closed the TLS connection or sent invalid data.
    package private(set) var isOver = false

    package init(_ context: TLSContext) throws {
        guard let connection = SSL_new(context.pointer), let incoming = BIO_new(BIO_s_mem()),
            let outgoing = BIO_new(BIO_s_mem())
        else { throw TLSError("begin a connection") }
        (self.context, self.connection) = (context, connection)
        (self.incoming, self.outgoing) = (incoming, outgoing)
        SSL_set_bio(connection, incoming, outgoing)
        if let peer = context.peer {
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), peer)
            SSL_set_connect_state(connection)
        } else {
            SSL_set_accept_state(connection)
        }
    }

    deinit { SSL_free(connection) }

    package func receive(_ bytes: [UInt8]) {
        BIO_write(incoming, bytes, Int32(bytes.count))
    }

    package func takeOutgoing() -> [UInt8] {
        let count = BIO_ctrl_pending(outgoing)
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
            read = max(0, Int(BIO_read(outgoing, buffer.baseAddress, Int32(count))))
        }
    }

    package func handshake() -> Handshake {
        ERR_clear_error()
        let result = SSL_do_handshake(connection)
        if result == 1 { return .done }
        return SSL_get_error(connection, result) == SSL_ERROR_WANT_READ ? .inProgress : .failed
    }

    /// The protocol negotiated with ALPN; nil if there was no agreement.
    package var negotiatedProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(connection, &name, &length)
        guard let name, length > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    package func read() -> [UInt8] {
        var bytes: [UInt8] = []
        while !isOver {
            // The maximum size of a TLS record.
            let part = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
                ERR_clear_error()
                let result = SSL_read(connection, buffer.baseAddress, Int32(buffer.count))
                count = max(0, Int(result))
                if result <= 0 {
                    isOver = SSL_get_error(connection, result) != SSL_ERROR_WANT_READ
                }
            }
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }

    package func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        ERR_clear_error()
        SSL_write(connection, bytes, Int32(bytes.count))
    }

    /// Sends the close notification.
    package func close() {
        ERR_clear_error()
        SSL_shutdown(connection)
    }
}
