import CCurl
import Foundation

/// A reusable libcurl easy handle. Used only on the loop's queue.
final class EasyHandle {
    private(set) var transfer: Transfer?
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    let configuration: TransferConfiguration
    let connectTo: StringList
    let resolve: StringList
    private let rateLimit: RateLimit?
    // Retained because libcurl has pointers to this object.
    private let sockets: OpenSockets
    private var headers: StringList?
    private var fields: FieldList?
    private var hasSignedHeaders = false
    private var isUnsignedGET = true
    private var hasCookies = false

    init(
        configuration: TransferConfiguration, sockets: OpenSockets, rateLimit: RateLimit?
    ) throws(TransferError) {
        connectTo = StringList(configuration.connectTo.map(\.text))
        resolve = StringList(configuration.resolve.map(\.text))
        guard let pointer = curl_easy_init() else {
            throw TransferError(.other, "libcurl could not allocate memory for a transfer")
        }
        (self.pointer, self.sockets) = (pointer, sockets)
        (self.configuration, self.rateLimit) = (configuration, rateLimit)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try setConstants()
        try setLimits()
        try set(CURLOPT_SHARE, pointer: sockets.sessions)
        try setCallbacks()
    }

    deinit {
        curl_easy_cleanup(pointer)
        errorText.deallocate()
    }

    private func setCallbacks() throws(TransferError) {
        // Unretained because this object owns the easy handle that stores the pointer.
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_PRIVATE, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_OPENSOCKETDATA,
            CURLOPT_PREREQDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA,
        ] {
            try set(option, pointer: context)
        }
        try set(CURLOPT_ERRORBUFFER, pointer: errorText)
        try check(
            larder_easy_set_data_callback(pointer, CURLOPT_HEADERFUNCTION) {
                EasyHandle.at($3)?.received(header: .init(start: $0, count: $1 * $2)) ?? 0
            }, CURLOPT_HEADERFUNCTION)
        try check(
            larder_easy_set_data_callback(pointer, CURLOPT_WRITEFUNCTION) {
                EasyHandle.at($3)?.received(body: .init(start: $0, count: $1 * $2)) ?? 0
            }, CURLOPT_WRITEFUNCTION)
        try check(
            larder_easy_set_data_callback(pointer, CURLOPT_READFUNCTION) {
                EasyHandle.at($3)?.transfer?.send(into: .init(start: $0, count: $1 * $2))
                    ?? Int(CURL_READFUNC_ABORT)
            }, CURLOPT_READFUNCTION)
        try check(
            larder_easy_set_seek_callback(pointer) { context, offset, origin in
                guard origin == SEEK_SET, let transfer = EasyHandle.at(context)?.transfer else {
                    return CURL_SEEKFUNC_CANTSEEK
                }
                transfer.rewind(to: Int64(offset))
                return CURL_SEEKFUNC_OK
            }, CURLOPT_SEEKFUNCTION)
        try check(
            larder_easy_set_open_socket_callback(pointer) { context, _, address in
                guard let address, let handle = EasyHandle.at(context) else { return -1 }
                return handle.openSocket(for: address)
            }, CURLOPT_OPENSOCKETFUNCTION)
        // Unretained because the multi handle retains `sockets` until all connections are closed.
        try set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(sockets).toOpaque())
        try check(
            larder_easy_set_close_socket_callback(pointer) { context, descriptor in
                if let context {
                    // Unretained because the multi handle still retains this object.
                    Unmanaged<OpenSockets>.fromOpaque(context).takeUnretainedValue()
                        .closed(descriptor)
                }
                return close(descriptor)
            }, CURLOPT_CLOSESOCKETFUNCTION)
        try check(
            larder_easy_set_prerequest_callback(pointer) { context, _, _, _, _ in
                EasyHandle.at(context)?.connected() ?? CURL_PREREQFUNC_ABORT
            }, CURLOPT_PREREQFUNCTION)
    }

    func begin(_ transfer: Transfer) throws(TransferError) {
        let request = transfer.order.request
        try setHeaders(of: request)
        if let refusal = configuration.addressPolicy.refusal(of: request.url) {
            throw TransferError(.addressRefused, AddressPolicy.advised(refusal, request.url))
        }
        try set(CURLOPT_URL, request.url.string)
        let waits = request.sharesConnection && request.url.scheme == .https
        try set(CURLOPT_PIPEWAIT, waits ? 1 : 0)
        // libcurl closes an HTTP/2 connection only after all its transfers have finished.
        try set(CURLOPT_FORBID_REUSE, request.isLastOfHost ? 1 : 0)
        // The following calls also reset the previous request's options.
        try setMethod(of: request)
        try setSecrets(of: transfer)
        if hasCookies { try set(CURLOPT_COOKIELIST, "ALL") }
        hasCookies = !request.cookies.isEmpty
        for cookie in request.cookies { try set(CURLOPT_COOKIELIST, cookie) }
        errorText.pointee = 0
        self.transfer = transfer
    }

    private func setMethod(of request: TransferRequest) throws(TransferError) {
        if !isUnsignedGET {
            // Also resets CURLOPT_UPLOAD and CURLOPT_NOBODY.
            try set(CURLOPT_HTTPGET, 1)
            try set(CURLOPT_CUSTOMREQUEST, nil)
            try set(CURLOPT_AWS_SIGV4, nil)
            try set(CURLOPT_HTTPAUTH, Int(bitPattern: larder_basic_authentication))
            isUnsignedGET = true
        }
        switch request.method {
        case .get: break
        case .head: try set(CURLOPT_NOBODY, 1)
        case .put(let body):
            // libcurl 7 sends "Expect: 100-continue" and waits a second. With a shorter wait,
            // Ceph's gateway could refuse the request and read its body as another request.
            try set(CURLOPT_UPLOAD, 1)
            try set(CURLOPT_INFILESIZE_LARGE, offset: body.count)
        case .delete: try set(CURLOPT_CUSTOMREQUEST, "DELETE")
        }
        if let signing = request.signing {
            try set(CURLOPT_AWS_SIGV4, "aws:amz:\(signing.region):s3")
        }
        if case .get = request.method, request.signing == nil { return }
        isUnsignedGET = false
    }

    private func setSecrets(of transfer: Transfer) throws(TransferError) {
        let (request, proxy) = (transfer.order.request, transfer.proxy)
        let credentials = request.signing?.credentials ?? request.url.credentials
        try set(CURLOPT_USERNAME, credentials?.user)
        try set(CURLOPT_PASSWORD, credentials?.password)
        if !configuration.proxies.isEmpty {
            try set(CURLOPT_PROXY, proxy?.url ?? "")
            // libcurl 7.88 drops an empty query in requests to an HTTP proxy.
            let needsTarget = request.url.scheme == .http && proxy?.isHTTP == true
            try set(CURLOPT_REQUEST_TARGET, needsTarget ? request.url.string : nil)
            try set(CURLOPT_PROXYUSERNAME, proxy?.credentials?.user)
            try set(CURLOPT_PROXYPASSWORD, proxy?.credentials?.password)
        }
        if configuration.netrcFile != nil {
            let use = request.usesStoredCredentials ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED
            try set(CURLOPT_NETRC, Int(use.rawValue))
        }
        if let certificate = configuration.clientCertificate {
            let used = request.usesStoredCredentials ? certificate : nil
            try set(CURLOPT_SSLCERT, used?.certificate)
            try set(CURLOPT_SSLKEY, used?.key)
        }
    }

    private func setHeaders(of request: TransferRequest) throws(TransferError) {
        let fields = request.headers
        let isSame = self.fields?.elementsEqual(fields) {
            $0.name.isSame(as: $1.name) && $0.value.isSame(as: $1.value)
        }
        // Reuses the list, because most requests have the same fields.
        if isSame == true, hasSignedHeaders == (request.signing != nil) { return }
        self.fields = nil
        var lines: [String] = []
        var cookie: String?
        // CURLOPT_ACCEPT_ENCODING is not used, because libcurl would decode the body. Signed
        // requests have no `Accept-Encoding`, because intermediaries change it.
        var acceptsGzip = request.signing == nil
        let hasOneAgent = fields.count { $0.name.utf8.isWord("user-agent") } == 1
        for (name, value) in fields {
            guard HeaderFields.isSendable(name: name, value: value) else {
                throw TransferError(.invalidRequest, "the header field '\(name)' cannot be sent")
            }
            // With CURLOPT_COOKIE, libcurl merges the field with a redirect chain's cookies. A
            // request can have only one `Cookie` field (RFC 6265, section 5.4).
            if name.utf8.isWord("cookie"), !value.isEmpty {
                cookie = value
                continue
            }
            if name.utf8.isWord("accept-encoding") { acceptsGzip = false }
            // libcurl sends its own field instead, which it copies faster.
            if hasOneAgent, name.utf8.isWord("user-agent"), !value.isEmpty,
                value.isSame(as: configuration.userAgent)
            {
                continue
            }
            // libcurl sends no field for `name:`, and an empty field for `name;`.
            lines.append(name + (value.isEmpty ? ";" : ": ") + value)
        }
        if acceptsGzip { lines.append("Accept-Encoding: gzip") }
        try set(CURLOPT_COOKIE, cookie)
        let list = StringList(lines)
        try set(CURLOPT_HTTPHEADER, pointer: list.pointer)
        headers = list
        (self.fields, hasSignedHeaders) = (fields, request.signing != nil)
    }

    private var cookies: [String] {
        var list: UnsafeMutablePointer<curl_slist>?
        guard hasCookies, larder_easy_get_list(pointer, CURLINFO_COOKIELIST, &list) == CURLE_OK,
            let first = list
        else { return [] }
        defer { curl_slist_free_all(list) }
        return sequence(first: first) { $0.pointee.next }
            .compactMap { $0.pointee.data.map { String(cString: $0) } }
    }

    /// Detaches the transfer. The multi handle must not contain this handle.
    func end() -> Transfer? { transfer.take() }

    /// Decides whether to send the request. If not, sets CURLOPT_CONNECT_ONLY, because aborting
    /// would close the connection. libcurl reads the option after the pre-request callback
    /// (multi.c, MSTATE_DO), and stores it only in new connections.
    fileprivate func connected() -> CInt {
        guard let transfer else { return CURL_PREREQFUNC_ABORT }
        if transfer.mayRequest() { return CURL_PREREQFUNC_OK }
        let isSet =
            larder_easy_set_long(pointer, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
            && larder_easy_set_long(pointer, CURLOPT_FORBID_REUSE, 0) == CURLE_OK
        return isSet ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }

    fileprivate func received(header line: UnsafeRawBufferPointer) -> Int {
        guard let transfer else { return 0 }
        if line.count > 11, line[..<11].isWord("set-cookie:") { hasCookies = true }
        let isTaken = transfer.receive(header: line, announcing: announcedLength, cookies: cookies)
        return isTaken ? line.count : 0
    }

    fileprivate func received(body bytes: UnsafeRawBufferPointer) -> Int {
        guard let transfer else { return 0 }
        if let rateLimit,
            !transfer.isAdmitted(received: offset(CURLINFO_SIZE_DOWNLOAD_T), by: rateLimit)
        {
            return Int(CURL_WRITEFUNC_PAUSE)
        }
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
        if descriptor >= 0 {
            sockets.opened(descriptor, for: transfer.order.request.url.origin)
        } else if errno == EMFILE || errno == ENFILE {
            transfer.isOutOfFiles = true
        }
        return descriptor
    }

    var announcedLength: Int64? {
        let length = offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        return length < 0 ? nil : length
    }

    var errorMessage: String { String(cString: errorText) }
    var systemError: Int32 { Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO)) }

    var proxyStatus: Int? {
        let status = long(CURLINFO_HTTP_CONNECTCODE)
        return status == 0 ? nil : status
    }

    var proxyError: CURLproxycode { CURLproxycode(UInt32(long(CURLINFO_PROXY_ERROR))) }
    var isConnected: Bool { offset(CURLINFO_PRETRANSFER_TIME_T) > 0 }
    var elapsed: Duration { .microseconds(offset(CURLINFO_TOTAL_TIME_T)) }

    var metrics: TransferMetrics {
        TransferMetrics(
            receivedBytes: offset(CURLINFO_SIZE_DOWNLOAD_T), total: elapsed,
            reusedConnection: long(CURLINFO_NUM_CONNECTS) == 0)
    }

    private func long(_ info: CURLINFO) -> Int {
        var value = 0
        return larder_easy_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    private func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return larder_easy_get_offset(pointer, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    static func owner(of pointer: UnsafeMutableRawPointer) -> EasyHandle? {
        var context: UnsafeMutableRawPointer?
        larder_easy_get_pointer(pointer, CURLINFO_PRIVATE, &context)
        return at(context)
    }

    /// Unretained because this object owns the easy handle, and so outlives it.
    private static func at(_ context: UnsafeMutableRawPointer?) -> EasyHandle? {
        context.map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }
}
