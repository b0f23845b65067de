import LarderCore
import NIOCore

/// A filter that rewrites valid request heads for NIO's parser.
///
/// - `Upgrade` is ignored (RFC 9110, section 7.8). The last letter of the name is replaced, because
///   the parser reads no request after an `Upgrade` field.
/// - A minor version above 1 is handled as 1.1 (RFC 9110, section 2.5).
/// - Non-ASCII bytes in a target, which curl sends unencoded, are percent-encoded.
///
/// No bytes are buffered. Rewriting a body is harmless because a request with a body is refused and
/// ends the connection.
final class HeadRewriter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let version: UInt64 = 0x2048_5454_502F_312E  // " HTTP/1."
    private static let name: UInt64 = 0x75_7067_7261_6465  // "upgrade"

    private var isBetweenHeads = true
    private var isRequestLine = true
    /// The length of the current line without carriage returns, and its last eight bytes.
    private var length = 0
    private var recent: UInt64 = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        rewrite(&buffer)
        context.fireChannelRead(wrapInboundOut(buffer))
    }

    func rewrite(_ buffer: inout ByteBuffer) {
        let encoded = buffer.withUnsafeMutableReadableBytes { rewrite($0) }
        if let encoded { buffer = ByteBuffer(bytes: encoded) }
    }

    /// Rewrites bytes in place and returns nil, or returns a copy if bytes must be percent-encoded.
    private func rewrite(_ bytes: UnsafeMutableRawBufferPointer) -> [UInt8]? {
        var encoded: [UInt8] = []
        var (done, index) = (0, 0)
        let view = UnsafeBufferPointer(bytes.bindMemory(to: UInt8.self))
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\n") {
                // Empty lines before a request are ignored (RFC 9112, section 2.2).
                if length == 0 { isBetweenHeads = true }
                isRequestLine = isBetweenHeads
                (length, recent) = (0, 0)
            } else if byte != UInt8(ascii: "\r") {
                let last = recent << 8 | UInt64(byte)
                if isRequestLine {
                    if recent == Self.version, UInt8(ascii: "2")...UInt8(ascii: "9") ~= byte {
                        bytes[index] = UInt8(ascii: "1")
                    }
                    if byte >= 0x80 {
                        encoded += bytes[done..<index]
                        encoded.append(percentEncoded: byte)
                        done = index + 1
                    }
                } else if length == 6, last | 0x20_2020_2020_2020 == Self.name {
                    bytes[index] = UInt8(ascii: "x")
                } else if length > 6, let end = view.place(of: 0x0A, from: index) {
                    index = end
                    continue
                }
                isBetweenHeads = false
                length += 1
                recent = last
            }
            index += 1
        }
        return encoded.isEmpty ? nil : encoded + bytes[done...]
    }
}
