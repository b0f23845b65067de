import NIOCore
import NIOHTTP1

/// The origin's side of a relay: sends one request and hands the response over as it comes, no
/// faster than the client takes it.
final class OriginHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let relay: RelayHandler
    private let request: HTTPRequestHead
    private var isWhole = false

    init(_ relay: RelayHandler, request: HTTPRequestHead) {
        self.relay = relay
        self.request = request
    }

    func channelActive(context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(request)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if case .end = part { isWhole = true }
        relay.answer(part)
        if isWhole { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        relay.flush()
        if relay.isWritable, !isWhole { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isWhole { relay.abandon() }
    }
}
