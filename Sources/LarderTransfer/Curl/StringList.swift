import CCurl

/// A list of C strings for libcurl, which reads it as long as an option points to it.
///
/// Belongs to the loop's thread.
final class StringList {
    let pointer: UnsafeMutablePointer<curl_slist>?

    /// - Throws: ``TransferError`` if there is no memory for it.
    init(_ strings: [String]) throws(TransferError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for string in strings {
            guard let longer = curl_slist_append(list, string) else {
                curl_slist_free_all(list)
                throw TransferError(code: .other, message: "libcurl has no memory for a list")
            }
            list = longer
        }
        pointer = list
    }

    deinit {
        curl_slist_free_all(pointer)
    }
}
