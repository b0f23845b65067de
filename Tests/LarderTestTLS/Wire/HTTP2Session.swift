import CNghttp2

/// One end of an HTTP/2 connection, without a socket. It takes bytes from the peer, and provides
/// bytes for the peer and events.
package final class HTTP2Session {
    package enum Event {
        case headers(stream: Int32, fields: [(name: String, value: String)])
        case data(stream: Int32, bytes: [UInt8])
        /// The peer has ended its side of the stream.
        case ended(stream: Int32)
        case closed(stream: Int32)
    }

    /// The unsent part of a stream's body.
    private struct Body {
        var bytes: [UInt8] = []
        var isComplete = false
        /// Whether to reset the stream after these bytes.
        var isCut = false
        /// Whether nghttp2 has deferred the stream until there are more bytes.
        var isDeferred = false
    }

    private var session: OpaquePointer?
    private var fields: [Int32: [(name: String, value: String)]] = [:]
    private var bodies: [Int32: Body] = [:]
    private var events: [Event] = []

    package init(isServer: Bool) throws {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { throw HTTP2Error("callbacks") }
        defer { nghttp2_session_callbacks_del(callbacks) }
        Self.setCallbacks(callbacks)
        // Unretained, because the nghttp2 session is deleted with this object.
        let userData = Unmanaged.passUnretained(self).toOpaque()
        let result =
            isServer
            ? nghttp2_session_server_new(&session, callbacks, userData)
            : nghttp2_session_client_new(&session, callbacks, userData)
        guard result == 0 else { throw HTTP2Error("session") }
        let streams = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: 100)
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), [streams], 1)
    }

    deinit { nghttp2_session_del(session) }

    // MARK: Receiving and sending bytes

    /// Returns false if the bytes are not HTTP/2.
    package func receive(_ bytes: [UInt8]) -> Bool {
        nghttp2_session_mem_recv(session, bytes, bytes.count) == bytes.count
    }

    package func takeOutgoing() -> [UInt8] {
        var outgoing: [UInt8] = []
        while outgoing.count < 64 << 10 {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0 else { break }
            outgoing += UnsafeBufferPointer(start: bytes, count: count)
        }
        return outgoing
    }

    package func takeEvents() -> [Event] {
        defer { events = [] }
        return events
    }

    /// Whether the connection is over for both ends.
    package var isOver: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    // MARK: Requests and responses

    /// Sends a request without a body and returns its stream.
    package func request(_ fields: [(name: String, value: String)]) -> Int32 {
        Self.withFields(fields) { nghttp2_submit_request(session, nil, $0, $1, nil, nil) }
    }

    /// Begins a response. If it has a body, ``append(_:to:)`` and ``finish(_:)`` must follow.
    package func respond(
        _ stream: Int32, _ fields: [(name: String, value: String)], hasBody: Bool
    ) {
        var provider = nghttp2_data_provider()
        provider.read_callback = Self.read
        if hasBody { bodies[stream] = Body() }
        _ = Self.withFields(fields) { entries, count in
            hasBody
                ? nghttp2_submit_response(session, stream, entries, count, &provider)
                : nghttp2_submit_response(session, stream, entries, count, nil)
        }
    }

    package func append(_ bytes: [UInt8], to stream: Int32) {
        bodies[stream]?.bytes += bytes
        resume(stream)
    }

    package func finish(_ stream: Int32) {
        bodies[stream]?.isComplete = true
        resume(stream)
    }

    /// Resets a stream after its pending bytes.
    package func cut(_ stream: Int32) {
        guard let body = bodies[stream], !body.bytes.isEmpty else {
            return reset(stream, NGHTTP2_CANCEL)
        }
        bodies[stream]?.isCut = true
        resume(stream)
    }

    /// Returns the number of unsent bytes in a stream.
    package func pending(_ stream: Int32) -> Int { bodies[stream]?.bytes.count ?? 0 }

    package func reset(_ stream: Int32, _ code: nghttp2_error_code) {
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Announces that streams after this one are not served.
    package func goAway(after stream: Int32) {
        nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_NO_ERROR.rawValue, nil, 0)
    }

    private func resume(_ stream: Int32) {
        guard bodies[stream]?.isDeferred == true else { return }
        bodies[stream]?.isDeferred = false
        nghttp2_session_resume_data(session, stream)
    }

    private static func withFields(
        _ fields: [(name: String, value: String)],
        _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32
    ) -> Int32 {
        var texts = fields.flatMap { Array($0.name.utf8) + Array($0.value.utf8) }
        return texts.withUnsafeMutableBufferPointer { buffer in
            var rest = buffer.baseAddress
            let entries = fields.map { field in
                let (name, value) = (field.name.utf8.count, field.value.utf8.count)
                defer { rest = rest.map { $0 + name + value } }
                return nghttp2_nv(
                    name: rest, value: rest.map { $0 + name }, namelen: name, valuelen: value,
                    flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
            }
            return body(entries, entries.count)
        }
    }

    // MARK: Callbacks of nghttp2

    private static func of(_ userData: UnsafeMutableRawPointer?) -> HTTP2Session {
        Unmanaged<HTTP2Session>.fromOpaque(userData!).takeUnretainedValue()
    }

    private static func setCallbacks(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, userData in
            let name = UnsafeBufferPointer(start: name, count: nameCount)
            let value = UnsafeBufferPointer(start: value, count: valueCount)
            HTTP2Session.of(userData).fields[frame!.pointee.hd.stream_id, default: []].append(
                (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, userData in
            HTTP2Session.of(userData).received(frame!.pointee.hd)
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, bytes, count, userData in
            let bytes = Array(UnsafeBufferPointer(start: bytes, count: count))
            HTTP2Session.of(userData).events.append(.data(stream: stream, bytes: bytes))
            return 0
        }
        // A request that cannot be sent, for example after GOAWAY.
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) {
            _, frame, _, userData in
            let head = frame!.pointee.hd
            if UInt32(head.type) == NGHTTP2_HEADERS.rawValue {
                HTTP2Session.of(userData).events.append(.closed(stream: head.stream_id))
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
            _, stream, _, userData in
            let session = HTTP2Session.of(userData)
            session.bodies[stream] = nil
            session.events.append(.closed(stream: stream))
            return 0
        }
    }

    private func received(_ head: nghttp2_frame_hd) {
        let type = UInt32(head.type)
        if type == NGHTTP2_HEADERS.rawValue {
            let fields = fields.removeValue(forKey: head.stream_id) ?? []
            events.append(.headers(stream: head.stream_id, fields: fields))
        } else if type != NGHTTP2_DATA.rawValue {
            return
        }
        if UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
            events.append(.ended(stream: head.stream_id))
        }
    }

    /// Copies the next bytes of a stream's body. The end of the stream is sent with the last bytes,
    /// because curl resets a stream that ends later than its last byte.
    private static let read: nghttp2_data_source_read_callback = {
        _, stream, buffer, capacity, flags, _, userData in
        let session = of(userData)
        guard var body = session.bodies[stream] else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        defer { session.bodies[stream] = body }
        let count = min(capacity, body.bytes.count)
        body.bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: buffer, count: count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        body.bytes.removeFirst(count)
        if body.bytes.isEmpty, body.isComplete {
            flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        } else if body.bytes.isEmpty, body.isCut {
            session.reset(stream, NGHTTP2_CANCEL)
        }
        if count == 0, !body.isComplete {
            body.isDeferred = true
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        return count
    }
}
