import CZlib

/// Decodes a body's content codings (RFC 9110, section 8.4) piece by piece, as fast as the receiver
/// takes the result. Belongs to the loop's queue.
///
/// libcurl would decode all received bytes at once, and keep up to 64 MB for a paused receiver: 51
/// bytes can expand to that.
final class BodyDecoder {
    static let accepted = "gzip"

    /// One of the server and one of a proxy.
    private static let maximumLayers = 2
    private static let known = ["gzip", "x-gzip", "deflate"]

    /// The outermost first.
    private let layers: [ContentLayer]
    /// The piece that the receiver did not take.
    private var refused: UnsafeRawBufferPointer?
    private var last: UnsafeRawBufferPointer?
    /// The number of processed bytes that will be delivered again.
    private var seen = 0

    static func knows(_ coding: String) -> Bool {
        known.contains { coding.utf8.elementsEqual($0.utf8) }
    }

    /// - Parameter codings: Known ones, in the order of their application; at least one.
    init(_ codings: [String], limit: Int64) throws(TransferError) {
        guard codings.count <= Self.maximumLayers else {
            throw TransferError(
                code: .malformedResponse,
                message: "the body is encoded \(codings.count) times (\(Self.accepted))")
        }
        layers = try codings.map { _ throws(TransferError) in try ContentLayer(limit: limit) }
    }

    var isWhole: Bool { layers.allSatisfy(\.isWhole) }

    /// Takes bytes, which must stay valid until ``next()`` returns nil, or ``putBack(_:)``.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        let known = min(seen, bytes.count)
        seen -= known
        layers[0].feed(.init(rebasing: bytes[known...]))
    }

    /// Returns more of the body, valid until the next call, or nil if all fed bytes are decoded.
    ///
    /// - Throws: ``TransferError`` if the bytes are damaged, or a layer decodes to more than the
    ///   limit, even if the body itself has no byte yet.
    func next() throws(TransferError) -> UnsafeRawBufferPointer? {
        if let piece = refused {
            refused = nil
            return piece
        }
        last = try next(of: layers.count - 1)
        return last
    }

    /// Takes the last piece back, since the receiver paused. All fed `bytes` will be fed again.
    func putBack(_ bytes: UnsafeRawBufferPointer) {
        refused = last
        // Fewer bytes may have arrived than were processed before.
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

/// Decodes one content coding, one buffer at a time: gzip (RFC 1952), also of several members, or
/// zlib's own format, which HTTP calls deflate (RFC 1950). Belongs to the loop's queue.
final class ContentLayer {
    private enum State { case start, inside, betweenMembers, end }

    // On the heap because zlib keeps the address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let buffer: UnsafeMutableRawBufferPointer
    private var state = State.start
    private var mayHoldMore = false
    private let limit: Int64
    private var total: Int64 = 0

    /// - Parameter limit: The maximum number of decoded bytes.
    init(limit: Int64) throws(TransferError) {
        self.limit = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        buffer = .allocate(byteCount: 16 << 10, alignment: 16)
        guard larder_inflate_begin(stream) == Z_OK else {
            throw TransferError(code: .other, message: "no memory to decode the body")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        buffer.deallocate()
    }

    /// Whether the encoded body can end here.
    var isWhole: Bool { state != .inside }

    /// The number of bytes that were fed and not processed.
    var unread: Int { Int(stream.pointee.avail_in) }

    /// Takes encoded bytes, which must stay valid while some are ``unread``.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
    }

    /// As ``BodyDecoder/next()``.
    func next() throws(TransferError) -> UnsafeRawBufferPointer? {
        while mayHoldMore || unread > 0 {
            switch state {
            case .start: state = .inside
            case .inside: break
            case .betweenMembers:
                // Other bytes after a member are padding.
                state = stream.pointee.next_in.pointee == 0x1F ? .inside : .end
                inflateReset(stream)
                continue
            case .end:
                feed(.init(start: nil, count: 0))
                continue
            }
            let count = try inflateOnce()
            total += Int64(count)
            guard total <= limit else { throw .bodyTooLong(limit: limit) }
            if count > 0 { return .init(rebasing: buffer[..<count]) }
        }
        return nil
    }

    /// - Returns: The number of bytes in the buffer.
    private func inflateOnce() throws(TransferError) -> Int {
        stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(buffer.count)
        let code = inflate(stream, Z_NO_FLUSH)
        mayHoldMore = stream.pointee.avail_out == 0 && code == Z_OK
        switch code {
        case Z_OK: break
        case Z_STREAM_END: state = .betweenMembers
        // No progress was possible.
        case Z_BUF_ERROR where unread == 0: break
        default:
            throw TransferError(
                code: .malformedResponse, message: "the body is not encoded as its head says")
        }
        return buffer.count - Int(stream.pointee.avail_out)
    }
}
