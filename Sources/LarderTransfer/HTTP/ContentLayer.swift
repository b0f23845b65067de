import CZlib

/// One content coding of a body, taken off by zlib while the body arrives: gzip (RFC 1952), of
/// several members too, or zlib's own form, which HTTP calls deflate (RFC 1950), whichever it
/// begins as.
///
/// Unpacks no more at once than its buffer holds, and waits with the rest until that is asked for.
final class ContentLayer {
    enum Step {
        /// More of the body; good until the next step.
        case bytes(UnsafeRawBufferPointer)
        /// Nothing is left of what came.
        case needsMore
        case damaged
    }

    private enum State { case start, inside, betweenMembers, end }

    // On the heap because zlib remembers the address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let buffer: UnsafeMutableRawBufferPointer
    private var state = State.start
    private var mayHoldMore = false
    /// Bytes that came out of it so far.
    private(set) var count: Int64 = 0

    private static let bufferSize = 16 << 10

    init() throws(TransferError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 16)
        guard larder_inflate_begin(stream) == Z_OK else {
            throw TransferError(code: .other, message: "no memory to decode the body")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        buffer.deallocate()
    }

    /// Whether it could end here: nothing came, or all that is due.
    var isWhole: Bool { state != .inside }

    /// Bytes that were fed and not looked at.
    var unread: Int { Int(stream.pointee.avail_in) }

    /// Takes in packed bytes, which must stay where they are while there are ``unread`` ones.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
    }

    func next() -> Step {
        while mayHoldMore || unread > 0 {
            switch state {
            case .start: state = .inside
            case .inside: break
            case .betweenMembers:
                // What follows and is no member is padding.
                state = stream.pointee.next_in.pointee == 0x1F ? .inside : .end
                inflateReset(stream)
                continue
            case .end:
                feed(.init(start: nil, count: 0))
                continue
            }
            guard let count = inflateOnce() else { return .damaged }
            if count > 0 { return .bytes(.init(rebasing: buffer[..<count])) }
        }
        return .needsMore
    }

    /// - Returns: how many bytes are in the buffer now; `nil` where what came cannot be unpacked.
    private func inflateOnce() -> Int? {
        stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(buffer.count)
        let code = inflate(stream, Z_NO_FLUSH)
        mayHoldMore = stream.pointee.avail_out == 0 && code == Z_OK
        switch code {
        case Z_OK: break
        case Z_STREAM_END: state = .betweenMembers
        // Nothing was left to be done.
        case Z_BUF_ERROR where unread == 0: break
        default: return nil
        }
        let given = buffer.count - Int(stream.pointee.avail_out)
        count += Int64(given)
        return given
    }
}

@available(*, unavailable, message: "a body is decoded on the loop's thread")
extension ContentLayer: Sendable {}
