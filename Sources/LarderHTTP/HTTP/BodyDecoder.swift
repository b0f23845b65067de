import CZlib
import LarderCore

/// A decoder of gzip (RFC 1952) with any number of members, or of zlib (RFC 1950), which HTTP calls
/// deflate. It decodes at the receiver's speed. libcurl would decode all received bytes at once,
/// and keep up to 64 MB for a paused receiver.
final class BodyDecoder {
    private enum State { case start, inside, betweenMembers, end }

    /// The decoder of the outer coding, if there are two. It receives the body.
    private let source: BodyDecoder?
    // The stream is on the heap, because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let buffer: UnsafeMutableRawBufferPointer
    private var state = State.start
    private var mayHoldMore = false
    private let limit: Int64
    private var total: Int64 = 0
    private var refused: UnsafeRawBufferPointer?
    private var last: UnsafeRawBufferPointer?
    /// The number of processed bytes that libcurl will deliver again.
    private var seen = 0

    static func knows(_ coding: String) -> Bool {
        ["gzip", "x-gzip", "deflate"].contains { coding.isSame(as: $0) }
    }

    /// - Parameter codings: The number of content codings (RFC 9110, section 8.4), at least 1.
    init(codings: Int, limit: Int64) throws(TransferError) {
        // The server may apply one coding, and a proxy a second one.
        guard codings <= 2 else {
            throw TransferError(.malformedResponse, "the body has too many content codings")
        }
        source = try codings > 1 ? BodyDecoder(codings: codings - 1, limit: limit) : nil
        self.limit = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        buffer = .allocate(byteCount: 16 << 10, alignment: 16)
        guard larder_inflate_begin(stream) == Z_OK else {
            throw TransferError(.other, "could not allocate memory to decode the body")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        buffer.deallocate()
    }

    var isWhole: Bool { state != .inside && (source?.isWhole ?? true) }
    private var unread: Int { Int(stream.pointee.avail_in) }

    /// Adds input. `bytes` must stay valid until ``next()`` returns nil or until ``putBack(_:)``.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        if let source { return source.feed(bytes) }
        let known = min(seen, bytes.count)
        seen -= known
        setInput(.init(rebasing: bytes[known...]))
    }

    /// Returns the next decoded piece, valid until the next call, or nil if more input is needed.
    func next() throws(TransferError) -> UnsafeRawBufferPointer? {
        if let piece = refused.take() { return piece }
        while true {
            last = try inflated()
            if let last { return last }
            guard let packed = try source?.next() else { return nil }
            setInput(packed)
        }
    }

    /// Keeps the last piece, because the receiver paused. Later, all of `bytes` must be fed again.
    func putBack(_ bytes: UnsafeRawBufferPointer) {
        refused = last
        let first = source ?? self
        // Part of `seen` may remain, because libcurl may repeat fewer bytes than were processed.
        first.seen += bytes.count - first.unread
        first.setInput(.init(start: nil, count: 0))
    }

    private func setInput(_ bytes: UnsafeRawBufferPointer) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
    }

    private func inflated() throws(TransferError) -> UnsafeRawBufferPointer? {
        while mayHoldMore || unread > 0 {
            if state == .betweenMembers {
                // Bytes that do not start a gzip member are padding.
                state = stream.pointee.next_in.pointee == 0x1F ? .inside : .end
                inflateReset(stream)
            }
            if state == .end {
                setInput(.init(start: nil, count: 0))
                continue
            }
            state = .inside
            stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = UInt32(buffer.count)
            let code = inflate(stream, Z_NO_FLUSH)
            mayHoldMore = stream.pointee.avail_out == 0 && code == Z_OK
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR && unread == 0 else {
                throw TransferError(
                    .malformedResponse, "the body does not match its Content-Encoding")
            }
            if code == Z_STREAM_END { state = .betweenMembers }
            let count = buffer.count - Int(stream.pointee.avail_out)
            total += Int64(count)
            guard total <= limit else { throw .bodyTooLong(limit: limit) }
            if count > 0 { return .init(rebasing: buffer[..<count]) }
        }
        return nil
    }
}
