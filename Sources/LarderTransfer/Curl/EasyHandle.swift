import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// libcurl's easy handle: the place of one transfer at a time, used again for the next.
///
/// Belongs to the loop's thread. The bridge from libcurl's callbacks to a ``Transfer`` is here and
/// nowhere else.
final class EasyHandle {
    private(set) var transfer: Transfer?
    private let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headerList: UnsafeMutablePointer<curl_slist>?

    /// A handle with everything set that is the same for all transfers.
    init(configuration: TransferConfiguration) throws(TransferError) {
        guard let pointer = curl_easy_init() else {
            throw TransferError(code: .other, message: "libcurl has no memory for a transfer")
        }
        self.pointer = pointer
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try setConstants()
        try setLimits(configuration)
        try setCallbacks()
    }

    deinit {
        curl_easy_cleanup(pointer)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    // MARK: Options

    private func setConstants() throws(TransferError) {
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        // Empty, not unset: the environment's proxy variables would apply.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOSIGNAL, 1)
        // Without it, taking out a transfer waits for its name look-up, and all others with it.
        // The look-up's thread then cleans up after itself.
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        // Refused by a libcurl that was built without HTTP/2, which then does without.
        _ = larder_easy_set_long(pointer, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try set(CURLOPT_TCP_NODELAY, 1)
        // Every encoding that libcurl was built to decode.
        try set(CURLOPT_ACCEPT_ENCODING, "")
        try set(CURLOPT_BUFFERSIZE, 64 << 10)
        try set(CURLOPT_NOPROGRESS, 1)
    }

    private func setLimits(_ configuration: TransferConfiguration) throws(TransferError) {
        try set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.wholeMilliseconds)
        try set(CURLOPT_TIMEOUT_MS, configuration.totalTimeout.wholeMilliseconds)
        try set(CURLOPT_LOW_SPEED_TIME, configuration.stallTimeout.wholeSeconds)
        try set(CURLOPT_LOW_SPEED_LIMIT, max(1, configuration.stallSpeed))
        try set(CURLOPT_USERAGENT, configuration.userAgent)
        if let authorities = configuration.certificateAuthorities {
            try set(CURLOPT_CAINFO, authorities)
            try check(larder_easy_set_string(pointer, CURLOPT_CAPATH, nil), CURLOPT_CAPATH)
        }
    }

    private func setCallbacks() throws(TransferError) {
        // Unretained because this object owns the easy handle that will hold the pointer.
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_PRIVATE, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA,
        ] {
            try check(larder_easy_set_pointer(pointer, option, context), option)
        }
        try check(
            larder_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorText), CURLOPT_ERRORBUFFER)
        try check(
            larder_easy_set_data_callback(pointer, CURLOPT_HEADERFUNCTION) {
                EasyHandle.at($3)?.received(header: .init(start: $0, count: $1 * $2)) ?? 0
            }, CURLOPT_HEADERFUNCTION)
        try check(
            larder_easy_set_data_callback(pointer, CURLOPT_WRITEFUNCTION) {
                EasyHandle.at($3)?.received(body: .init(start: $0, count: $1 * $2)) ?? 0
            }, CURLOPT_WRITEFUNCTION)
        try check(
            larder_easy_set_open_socket_callback(pointer) { context, _, address in
                guard let address, let handle = EasyHandle.at(context) else { return -1 }
                return handle.openSocket(for: address)
            }, CURLOPT_OPENSOCKETFUNCTION)
    }

    private func set(_ option: CURLoption, _ value: Int) throws(TransferError) {
        try check(larder_easy_set_long(pointer, option, value), option)
    }

    private func set(_ option: CURLoption, _ value: String) throws(TransferError) {
        try check(larder_easy_set_string(pointer, option, value), option)
    }

    private func check(_ code: CURLcode, _ option: CURLoption) throws(TransferError) {
        guard code != CURLE_OK else { return }
        throw TransferError(
            code: .other,
            message: "libcurl refuses its option \(option.rawValue): \(CurlCode(code))",
            curlCode: CurlCode(code))
    }

    // MARK: One transfer

    /// Takes in a transfer.
    ///
    /// - Parameter sharesConnection: whether to wait for a connection that is being made and may
    ///   turn out to be HTTP/2, instead of making one more.
    func begin(_ transfer: Transfer, sharesConnection: Bool) throws(TransferError) {
        let request = transfer.order.request
        if let name = request.firstIllegalHeader {
            throw TransferError(
                code: .invalidRequest, url: request.url,
                message: "the header field '\(name)' cannot be sent")
        }
        try set(CURLOPT_URL, request.url.string)
        try set(CURLOPT_PIPEWAIT, sharesConnection && request.url.scheme == .https ? 1 : 0)
        try setHeaders(request.headers)
        errorText.pointee = 0
        self.transfer = transfer
    }

    private func setHeaders(_ headers: [(name: String, value: String)]) throws(TransferError) {
        guard !headers.isEmpty || headerList != nil else { return }
        curl_slist_free_all(headerList)
        headerList = nil
        for (name, value) in headers {
            // To libcurl, "name:" means to leave the field out and "name;" to send it empty.
            let line = value.isEmpty ? "\(name);" : "\(name): \(value)"
            headerList = curl_slist_append(headerList, line) ?? headerList
        }
        try check(
            larder_easy_set_list(pointer, CURLOPT_HTTPHEADER, headerList), CURLOPT_HTTPHEADER)
    }

    /// Lets go of the transfer; the handle must be out of the multi handle.
    func end() -> Transfer? {
        defer { transfer = nil }
        return transfer
    }

    /// Delivers again what the receiver paused at.
    ///
    /// - Returns: not ``CurlCode/ok`` if the transfer failed by it; libcurl itself goes on with it.
    func resume() -> CurlCode {
        CurlCode(curl_easy_pause(pointer, CURLPAUSE_CONT))
    }

    fileprivate func received(header line: UnsafeRawBufferPointer) -> Int {
        guard let transfer else { return 0 }
        return transfer.receive(header: line, from: self) ? line.count : 0
    }

    fileprivate func received(body bytes: UnsafeRawBufferPointer) -> Int {
        guard let transfer else { return 0 }
        return switch transfer.receive(body: bytes) {
        case .proceed: bytes.count
        case .pause: Int(CURL_WRITEFUNC_PAUSE)
        case .stop: 0
        }
    }

    fileprivate func openSocket(for address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard let transfer, let socketAddress = larder_sockaddr(address),
            transfer.allows(socketAddress, length: Int(address.pointee.addrlen))
        else { return -1 }
        let descriptor = larder_open_socket(address)
        if descriptor < 0 { transfer.noSocket(errno) }
        return descriptor
    }

    // MARK: What libcurl knows

    /// The announced length of the body, encoded; `nil` if none was.
    var announcedLength: Int64? {
        let length = offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        return length < 0 ? nil : length
    }

    /// libcurl's words for what went wrong; empty if it has none.
    var errorMessage: String { String(cString: errorText) }

    /// The operating system's `errno` of a failed connection.
    var systemError: Int32 { Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO)) }

    /// Whether the request was, or was about to be, sent: the connection stands.
    var isConnected: Bool { offset(CURLINFO_PRETRANSFER_TIME_T) > 0 }

    /// Since the transfer was added to the multi handle.
    var elapsed: Duration { duration(CURLINFO_TOTAL_TIME_T) }

    var metrics: TransferMetrics {
        let connect = max(duration(CURLINFO_CONNECT_TIME_T), duration(CURLINFO_APPCONNECT_TIME_T))
        return TransferMetrics(
            receivedBytes: offset(CURLINFO_SIZE_DOWNLOAD_T),
            total: elapsed, connect: connect, firstByte: duration(CURLINFO_STARTTRANSFER_TIME_T),
            reusedConnection: long(CURLINFO_NUM_CONNECTS) == 0,
            remoteAddress: string(CURLINFO_PRIMARY_IP))
    }

    private func long(_ info: CURLINFO) -> Int {
        var value = 0
        return larder_easy_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    private func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return larder_easy_get_offset(pointer, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    private func duration(_ info: CURLINFO) -> Duration { .microseconds(offset(info)) }

    private func string(_ info: CURLINFO) -> String {
        var value: UnsafePointer<CChar>?
        guard larder_easy_get_string(pointer, info, &value) == CURLE_OK else { return "" }
        return value.map { String(cString: $0) } ?? ""
    }

    // MARK: From libcurl's pointers to objects

    func add(to multi: UnsafeMutableRawPointer) -> CURLMcode {
        curl_multi_add_handle(multi, pointer)
    }

    func remove(from multi: UnsafeMutableRawPointer) {
        curl_multi_remove_handle(multi, pointer)
    }

    /// The object that owns libcurl's easy handle.
    static func owner(of pointer: UnsafeMutableRawPointer) -> EasyHandle? {
        var context: UnsafeMutableRawPointer?
        larder_easy_get_pointer(pointer, CURLINFO_PRIVATE, &context)
        return at(context)
    }

    /// The object behind a pointer that ``setCallbacks()`` gave to libcurl. Unretained because
    /// libcurl only calls while the easy handle lives, and this object outlives that.
    private static func at(_ context: UnsafeMutableRawPointer?) -> EasyHandle? {
        context.map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }
}

@available(*, unavailable, message: "an easy handle belongs to the loop's thread")
extension EasyHandle: Sendable {}

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
