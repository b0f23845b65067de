import COpenSSL

/// A failed operation of OpenSSL.
package struct TLSError: Error, CustomStringConvertible {
    package let description: String

    /// Uses the first error in the calling thread's queue.
    init(_ operation: String) {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        description =
            "TLS: \(operation): \(text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })"
    }
}
