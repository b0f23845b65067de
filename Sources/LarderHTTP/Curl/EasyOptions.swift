import CCurl

extension EasyHandle {
    func setConstants() throws(TransferError) {
        try set(CURLOPT_CONNECT_TO, pointer: connectTo.pointer)
        try set(CURLOPT_RESOLVE, pointer: resolve.pointer)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // Enables cookies, in memory only.
        try set(CURLOPT_COOKIEFILE, "")
        try set(CURLOPT_PATH_AS_IS, 1)
        // With nil, libcurl would use environment variables.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOPROXY, "")
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_NOSIGNAL, 1)
        // Without this, removing a transfer waits for its DNS lookup, which blocks all transfers.
        try set(CURLOPT_QUICK_EXIT, 1)
        // Each lookup visits all cached names, so a long-lived cache would take quadratic time.
        try set(CURLOPT_DNS_CACHE_TIMEOUT, 1)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        // If libcurl was built without HTTP/2, this call fails, and libcurl uses HTTP/1.
        _ = larder_easy_set_long(pointer, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    }

    func setLimits() throws(TransferError) {
        // libcurl's maximums are 2^31 - 1 milliseconds and 2^16 - 1 seconds.
        func milliseconds(_ time: Duration) -> Int { time.whole(.milliseconds(1), 2_000_000_000) }
        try set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(configuration.connectTimeout))
        if configuration.maximumBytesPerSecond == nil {
            try set(CURLOPT_TIMEOUT_MS, milliseconds(configuration.totalTimeout))
        }
        try set(CURLOPT_LOW_SPEED_TIME, configuration.stallTimeout.whole(.seconds(1), 65_535))
        try set(CURLOPT_LOW_SPEED_LIMIT, max(1, configuration.stallSpeed))
        // With a rate limit, eight pieces arrive per second. libcurl's minimum is 1 KiB.
        let eighth = configuration.maximumBytesPerSecond.map { max(1 << 10, Int($0 / 8)) }
        try set(CURLOPT_BUFFERSIZE, min(16 << 10, eighth ?? .max))
        try set(CURLOPT_USERAGENT, configuration.userAgent)
        if let authorities = configuration.certificateAuthorities ?? CurlLibrary.certificateBundle {
            try set(CURLOPT_CAINFO, authorities)
            try set(CURLOPT_PROXY_CAINFO, authorities)
            // If a directory were set, libcurl would parse the file for each connection, which is
            // slower than a handshake (lib/vtls/openssl.c, Curl_ssl_setup_x509_store).
            try set(CURLOPT_CAPATH, nil)
            try set(CURLOPT_PROXY_CAPATH, nil)
        }
        if let file = configuration.netrcFile { try set(CURLOPT_NETRC_FILE, file) }
        // Without this option, OpenSSL would ask for a passphrase on the terminal.
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

    /// Sets a pointer, which must stay valid, because libcurl does not copy the value.
    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws(TransferError) {
        try check(larder_easy_set_pointer(pointer, option, value), option)
    }

    func check(_ code: CURLcode, _ option: CURLoption) throws(TransferError) {
        guard code != CURLE_OK else { return }
        throw TransferError(.other, "libcurl refused option \(option.rawValue): \(code.text)")
    }
}

extension CURLcode {
    var text: String { "\(String(cString: curl_easy_strerror(self))) (curl \(rawValue))" }
}

extension Duration {
    /// Rounds up to whole units. Returns at least 1, because libcurl takes 0 as no limit.
    fileprivate func whole(_ unit: Duration, _ maximum: Double) -> Int {
        Int(min(max(1, (self / unit).rounded(.up)), maximum))
    }
}

final class StringList {
    private(set) var pointer: UnsafeMutablePointer<curl_slist>?

    init(_ strings: [String]) {
        for string in strings { pointer = curl_slist_append(pointer, string)! }
    }

    deinit { curl_slist_free_all(pointer) }
}
