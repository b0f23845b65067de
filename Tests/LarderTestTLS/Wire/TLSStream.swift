import COpenSSL

/// One end of a TLS connection, without a socket: bytes of the peer go in, bytes for it come out.
package final class TLSStream {
    /// How far a handshake is.
    package enum Handshake { case going, done, failed }

    private let context: TLSContext
    private let connection: OpaquePointer
    // Both belong to the connection.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    /// Whether the peer has said that nothing more comes, or something that is not TLS.
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

    /// Takes bytes of the peer.
    package func receive(_ bytes: [UInt8]) {
        BIO_write(incoming, bytes, Int32(bytes.count))
    }

    /// Bytes for the peer; empty where there are none.
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
        return SSL_get_error(connection, result) == SSL_ERROR_WANT_READ ? .going : .failed
    }

    /// What both ends have agreed on (ALPN); nil where that is nothing.
    package var agreed: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(connection, &name, &length)
        guard let name, length > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// What the peer has said; empty where nothing more has come so far.
    package func read() -> [UInt8] {
        var bytes: [UInt8] = []
        while !isOver {
            // A record has at most 16 KiB.
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

    /// Says that nothing more comes.
    package func close() {
        ERR_clear_error()
        SSL_shutdown(connection)
    }
}
