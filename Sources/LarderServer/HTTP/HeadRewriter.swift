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

    private static let name = Array("upgrade".utf8)
    private static let version = Array(" HTTP/1.".utf8)

    private var isBetweenHeads = true
    private var isRequestLine = true
    /// The length of the current line without carriage returns.
    private var length = 0
    /// The length of the matching prefix of `version` or `name`.
    private var matched = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        rewrite(&buffer)
        context.fireChannelRead(wrapInboundOut(buffer))
    }

    func rewrite(_ buffer: inout ByteBuffer) {
        let encoded = buffer.withUnsafeMutableReadableBytes { rewrite($0) }
        if let encoded { buffer = ByteBuffer(bytes: encoded) }
    }

    /// Rewrites bytes in place and returns nil, or returns a copy if bytes are percent-encoded.
    private func rewrite(_ bytes: UnsafeMutableRawBufferPointer) -> [UInt8]? {
        var encoded: [UInt8]?
        var (done, index) = (0, 0)
        let view = UnsafeBufferPointer(bytes.bindMemory(to: UInt8.self))
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\n") {
                endLine()
            } else if byte != UInt8(ascii: "\r") {
                if isRequestLine {
                    if isVersion(byte) { bytes[index] = UInt8(ascii: "1") }
                    if byte >= 0x80 {
                        var text = encoded ?? []
                        encoded = nil
                        text += bytes[done..<index]
                        text.append(percentEncoded: byte)
                        (encoded, done) = (text, index + 1)
                    }
                } else if isName(byte) {
                    bytes[index] = UInt8(ascii: "x")
                } else if length > matched, let end = view.place(of: 0x0A, from: index) {
                    length += 1
                    index = end
                    continue
                }
                isBetweenHeads = false
                length += 1
            }
            index += 1
        }
        return encoded.map { $0 + bytes[done...] }
    }

    private func endLine() {
        // Empty lines before a request are ignored (RFC 9112, section 2.2).
        if length == 0 { isBetweenHeads = true }
        isRequestLine = isBetweenHeads
        (length, matched) = (0, 0)
    }

    private func isVersion(_ byte: UInt8) -> Bool {
        if matched == Self.version.count {
            matched = 0
            return UInt8(ascii: "2")...UInt8(ascii: "9") ~= byte
        }
        matched = byte == Self.version[matched] ? matched + 1 : byte == Self.version[0] ? 1 : 0
        return false
    }

    private func isName(_ byte: UInt8) -> Bool {
        guard matched == length, matched < Self.name.count, byte | 0x20 == Self.name[matched]
        else { return false }
        matched += 1
        return matched == Self.name.count
    }
}
