import LarderURL
import NIOCore

/// Percent-encodes bytes beyond ASCII in a request's first line. curl sends a URL's characters as
/// they are, and SwiftNIO's parser refuses them.
///
/// No request here has a body: a connection on which one begins is closed.
final class TargetEncoder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var isFirstLine = true
    private var isLineEmpty = true

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        let encoded = buffer.withUnsafeReadableBytes(encode)
        context.fireChannelRead(
            encoded.map { wrapInboundOut(context.channel.allocator.buffer(bytes: $0)) } ?? data)
    }

    /// Returns the encoded bytes; nil if nothing changes.
    private func encode(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var encoded: [UInt8]?
        for (index, byte) in bytes.enumerated() {
            if byte >= 0x80, isFirstLine {
                if encoded == nil { encoded = Array(bytes[..<index]) }
                encoded?.append(percentEncoded: byte)
            } else {
                encoded?.append(byte)
            }
            if byte == UInt8(ascii: "\n") {
                // An empty line ends a head, or comes before the next one.
                isFirstLine = isLineEmpty
                isLineEmpty = true
            } else if byte != UInt8(ascii: "\r") {
                isLineEmpty = false
            }
        }
        return encoded
    }
}
