import COpenSSL

/// What the TLS connections of one end have in common: certificates, and the protocols to agree on.
///
/// `@unchecked Sendable` because it is complete before anybody else sees it; from then on, OpenSSL
/// alone changes what lies behind the pointer, under locks of its own.
package final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    /// Whom connections are made to; nil for the end that waits for them.
    let peer: String?
    // Each name with its length in front, as ALPN has it.
    private let offer: UnsafeMutableBufferPointer<UInt8>

    /// The server's: a PEM file with its certificate, one with its key, the protocols by preference.
    ///
    /// - Parameter asksForCertificate: whether it turns away a client without one; any will do.
    package init(
        certificate: String, key: String, offer: [String], asksForCertificate: Bool
    ) throws {
        (pointer, self.offer, peer) = (try Self.make(TLS_server_method()), Self.list(offer), nil)
        guard SSL_CTX_use_certificate_chain_file(pointer, certificate) == 1,
            SSL_CTX_use_PrivateKey_file(pointer, key, SSL_FILETYPE_PEM) == 1
        else { throw TLSError("load \(certificate)") }
        // A session is resumed only under a name, once certificates are asked for.
        SSL_CTX_set_session_id_context(pointer, [1], 1)
        if asksForCertificate {
            SSL_CTX_set_verify(
                pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, { _, _ in 1 })
        }
        // Unretained, because every connection keeps its context.
        let own = Unmanaged.passUnretained(self).toOpaque()
        if !offer.isEmpty { SSL_CTX_set_alpn_select_cb(pointer, Self.select, own) }
    }

    /// A client's, of the peer at an address: it trusts the authority in a PEM file alone.
    package init(peer: String, authority: String, offer: [String]) throws {
        pointer = try Self.make(TLS_client_method())
        (self.offer, self.peer) = (Self.list(offer), peer)
        guard SSL_CTX_load_verify_locations(pointer, authority, nil) == 1 else {
            throw TLSError("load \(authority)")
        }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        // 0 is success here, unlike everywhere else.
        guard
            SSL_CTX_set_alpn_protos(pointer, self.offer.baseAddress, UInt32(self.offer.count)) == 0
        else { throw TLSError("offer \(offer)") }
    }

    deinit {
        SSL_CTX_free(pointer)
        offer.deallocate()
    }

    private static func make(_ method: OpaquePointer?) throws -> OpaquePointer {
        guard let pointer = SSL_CTX_new(method) else { throw TLSError("begin") }
        return pointer
    }

    private static func list(_ names: [String]) -> UnsafeMutableBufferPointer<UInt8> {
        let bytes = names.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        let list = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = list.initialize(from: bytes)
        return list
    }

    /// The first of the server's names that the client has, too; without one, none.
    private static let select: SSL_CTX_alpn_select_cb_func = {
        _, selected, length, theirs, count, own in
        guard let selected, let length, let own else { return SSL_TLSEXT_ERR_NOACK }
        let offer = Unmanaged<TLSContext>.fromOpaque(own).takeUnretainedValue().offer
        var name: UnsafeMutablePointer<UInt8>?
        let result = SSL_select_next_proto(
            &name, length, offer.baseAddress, UInt32(offer.count), theirs, count)
        guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_NOACK }
        selected.pointee = UnsafePointer(name)
        return SSL_TLSEXT_ERR_OK
    }
}
