import CZlib
import LarderCore

/// A decoder of a body's content codings (RFC 9110, section 8.4), piece by piece, at the receiver's
/// speed. libcurl would decode all received bytes at once. For a paused receiver, it would keep up
/// to 64 MB, even if only 51 bytes were received.
final class BodyDecoder {
    private let layers: [ContentLayer]
    private var refused: UnsafeRawBufferPointer?
    private var last: UnsafeRawBufferPointer?
    /// The number of processed bytes that libcurl will deliver again.
    private var seen = 0

    static func knows(_ coding: String) -> Bool {
        ["gzip", "x-gzip", "deflate"].contains { coding.isSame(as: $0) }
    }

    /// - Parameter codings: One or more known codings, in the field's order.
    init(_ codings: [String], limit: Int64) throws(TransferError) {
        // The server may apply one coding, and a proxy a second one.
        guard codings.count <= 2 else {
            throw TransferError(.malformedResponse, "the body has too many content codings")
        }
        layers = try codings.map { _ throws(TransferError) in try ContentLayer(limit: limit) }
    }

    var isWhole: Bool { layers.allSatisfy(\.isWhole) }

    /// Adds input. `bytes` must stay valid until ``next()`` returns nil or until ``putBack(_:)``.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        let known = min(seen, bytes.count)
        seen -= known
        layers[0].feed(.init(rebasing: bytes[known...]))
    }

    /// Returns the next decoded piece, valid until the next call, or nil if more input is needed.
    /// Throws an error if the bytes are damaged or the output of a layer exceeds the limit.
    func next() throws(TransferError) -> UnsafeRawBufferPointer? {
        if let piece = refused.take() { return piece }
        last = try next(of: layers.count - 1)
        return last
    }

    /// Keeps the last piece, because the receiver paused. Later, all of `bytes` must be fed again.
    func putBack(_ bytes: UnsafeRawBufferPointer) {
        refused = last
        // Part of `seen` may remain, because libcurl may repeat fewer bytes than were processed.
        seen += bytes.count - layers[0].unread
        layers[0].feed(.init(start: nil, count: 0))
    }

    private func next(of index: Int) throws(TransferError) -> UnsafeRawBufferPointer? {
        while true {
            if let piece = try layers[index].next() { return piece }
            guard index > 0, let packed = try next(of: index - 1) else { return nil }
            layers[index].feed(packed)
        }
    }
}

/// A decoder of one content coding: gzip (RFC 1952) with any number of members, or zlib (RFC 1950),
/// which HTTP calls deflate.
final class ContentLayer {
    private enum State { case start, inside, betweenMembers, end }

    // The stream is on the heap, because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let buffer: UnsafeMutableRawBufferPointer
    private var state = State.start
    private var mayHoldMore = false
    private let limit: Int64
    private var total: Int64 = 0

    init(limit: Int64) throws(TransferError) {
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

    var isWhole: Bool { state != .inside }
    var unread: Int { Int(stream.pointee.avail_in) }

    func feed(_ bytes: UnsafeRawBufferPointer) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
    }

    func next() throws(TransferError) -> UnsafeRawBufferPointer? {
        while mayHoldMore || unread > 0 {
            if state == .betweenMembers {
                // Bytes that do not start a gzip member are padding.
                state = stream.pointee.next_in.pointee == 0x1F ? .inside : .end
                inflateReset(stream)
            }
            if state == .end {
                feed(.init(start: nil, count: 0))
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
