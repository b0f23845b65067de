import CCurl

/// The options that are the same for all transfers.
extension EasyHandle {
    func setConstants() throws(TransferError) {
        try set(CURLOPT_CONNECT_TO, pointer: connectTo.pointer)
        try set(CURLOPT_RESOLVE, pointer: resolve.pointer)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        // No file, but cookies in memory.
        try set(CURLOPT_COOKIEFILE, "")
        // The URL is canonical.
        try set(CURLOPT_PATH_AS_IS, 1)
        // Empty, not unset: the environment's variables would apply.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOPROXY, "")
        // Header fields are for the server, not for the proxy.
        try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_NOSIGNAL, 1)
        // Otherwise, removing a transfer waits for its name look-up, and blocks all others.
        try set(CURLOPT_QUICK_EXIT, 1)
        // Each look-up visits all cached names: with the default of a minute, thousands of hosts
        // take quadratic time.
        try set(CURLOPT_DNS_CACHE_TIMEOUT, 1)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        // A libcurl without HTTP/2 refuses it, and uses HTTP/1.
        _ = larder_easy_set_long(pointer, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_NOPROGRESS, 1)
    }

    func setLimits() throws(TransferError) {
        try set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.wholeMilliseconds)
        if configuration.maximumBytesPerSecond == nil {
            try set(CURLOPT_TIMEOUT_MS, configuration.totalTimeout.wholeMilliseconds)
        }
        try set(CURLOPT_LOW_SPEED_TIME, configuration.stallTimeout.wholeSeconds)
        try set(CURLOPT_LOW_SPEED_LIMIT, max(1, configuration.stallSpeed))
        // With a rate limit, several pieces arrive each second. libcurl takes at least 1 KiB.
        let eighth = configuration.maximumBytesPerSecond.map { max(1 << 10, Int($0 / 8)) }
        try set(CURLOPT_BUFFERSIZE, min(16 << 10, eighth ?? .max))
    }

    func setIdentity() throws(TransferError) {
        try set(CURLOPT_USERAGENT, configuration.userAgent)
        if let authorities = configuration.certificateAuthorities ?? CurlLibrary.certificateBundle {
            try set(CURLOPT_CAINFO, authorities)
            try set(CURLOPT_PROXY_CAINFO, authorities)
            // With a directory, libcurl parses the file for each connection, which takes longer
            // than the rest of the handshake (lib/vtls/openssl.c, Curl_ssl_setup_x509_store).
            try set(CURLOPT_CAPATH, nil)
            try set(CURLOPT_PROXY_CAPATH, nil)
        }
        if let file = configuration.netrcFile { try set(CURLOPT_NETRC_FILE, file) }
        // Empty, not unset: OpenSSL would ask the terminal for the passphrase of an encrypted key.
        if configuration.clientCertificate != nil { try set(CURLOPT_KEYPASSWD, "") }
    }

    func set(_ option: CURLoption, _ value: Int) throws(TransferError) {
        try check(larder_easy_set_long(pointer, option, value), option)
    }

    func set(_ option: CURLoption, offset value: Int64) throws(TransferError) {
        try check(larder_easy_set_offset(pointer, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, _ value: String?) throws(TransferError) {
        try check(larder_easy_set_string(pointer, option, value), option)
    }

    /// libcurl does not copy lists and pointers. They must exist as long as the option has them.
    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws(TransferError) {
        try check(larder_easy_set_pointer(pointer, option, value), option)
    }

    func check(_ code: CURLcode, _ option: CURLoption) throws(TransferError) {
        guard code != CURLE_OK else { return }
        throw TransferError(
            code: .other,
            message: "libcurl refuses its option \(option.rawValue): \(code.text)")
    }
}

extension Duration {
    /// For libcurl, which takes 0 for "no limit" and no more than 2^31 - 1.
    fileprivate var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(
            1,
            Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }

    /// For libcurl, which takes 0 for "no limit" and no more than 2^16 - 1; rounded up.
    fileprivate var wholeSeconds: Int {
        let (seconds, attoseconds) = components
        return Int(min(max(1, seconds + (attoseconds > 0 ? 1 : 0)), 65_535))
    }
}

/// A list of C strings for libcurl. Belongs to the loop's queue.
final class StringList {
    let pointer: UnsafeMutablePointer<curl_slist>?

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

    deinit { curl_slist_free_all(pointer) }
}
