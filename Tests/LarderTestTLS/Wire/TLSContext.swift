import COpenSSL

/// The settings that the TLS connections of one end share: certificates and protocols.
///
/// `@unchecked Sendable` because its properties do not change after initialisation. Only OpenSSL
/// changes the object behind the pointer, and it uses locks.
package final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    /// The address to which a client connects; nil for a server.
    let peer: String?
    // The protocol names, each preceded by its length, in the format of ALPN.
    private let offer: UnsafeMutableBufferPointer<UInt8>

    /// Creates the context of a server.
    ///
    /// - Parameters:
    ///   - certificate: The path of a PEM file with the certificate.
    ///   - key: The path of a PEM file with the private key.
    ///   - offer: The protocols in order of preference.
    ///   - requiresClientCertificate: Whether to reject clients without a certificate. Every client
    ///     certificate is accepted.
    package init(
        certificate: String, key: String, offer: [String], requiresClientCertificate: Bool
    ) throws {
        (pointer, self.offer, peer) = (try Self.make(TLS_server_method()), Self.list(offer), nil)
        guard SSL_CTX_use_certificate_chain_file(pointer, certificate) == 1,
            SSL_CTX_use_PrivateKey_file(pointer, key, SSL_FILETYPE_PEM) == 1
        else { throw TLSError("load \(certificate)") }
        // OpenSSL resumes sessions only with a session ID context if it asks for certificates.
        SSL_CTX_set_session_id_context(pointer, [1], 1)
        if requiresClientCertificate {
            SSL_CTX_set_verify(
                pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, { _, _ in 1 })
        }
        // Unretained, because every connection retains its context.
        let userData = Unmanaged.passUnretained(self).toOpaque()
        if !offer.isEmpty { SSL_CTX_set_alpn_select_cb(pointer, Self.select, userData) }
    }

    /// Creates the context of a client that connects to the address `peer` and trusts only the
    /// authority in a PEM file.
    package init(peer: String, authority: String, offer: [String]) throws {
        pointer = try Self.make(TLS_client_method())
        (self.offer, self.peer) = (Self.list(offer), peer)
        guard SSL_CTX_load_verify_locations(pointer, authority, nil) == 1 else {
            throw TLSError("load \(authority)")
        }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        // Unlike other functions of OpenSSL, this one returns 0 on success.
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

    /// Selects the server's first protocol that the client also offers, or none.
    private static let select: SSL_CTX_alpn_select_cb_func = {
        _, selected, length, theirs, count, userData in
        guard let selected, let length, let userData else { return SSL_TLSEXT_ERR_NOACK }
        let offer = Unmanaged<TLSContext>.fromOpaque(userData).takeUnretainedValue().offer
        var name: UnsafeMutablePointer<UInt8>?
        let result = SSL_select_next_proto(
            &name, length, offer.baseAddress, UInt32(offer.count), theirs, count)
        guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_NOACK }
        selected.pointee = UnsafePointer(name)
        return SSL_TLSEXT_ERR_OK
    }
}
