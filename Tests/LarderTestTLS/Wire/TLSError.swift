import COpenSSL

/// Something that OpenSSL could not do.
package struct TLSError: Error, CustomStringConvertible {
    package let description: String

    /// Takes the calling thread's last error.
    init(_ operation: String) {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        description =
            "TLS: \(operation): \(text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })"
    }
}
