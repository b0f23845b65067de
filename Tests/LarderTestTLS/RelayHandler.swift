import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix

/// The client's side of a relay: an HTTP/1.1 connection, or one HTTP/2 stream.
final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let state: FrontState
    private let connection: any Channel
    private let originPort: UInt16
    private var context: ChannelHandlerContext?
    private var origin: (any Channel)?
    private var isAnswering = false
    private var closesAfterwards = false

    init(_ state: FrontState, connection: any Channel, originPort: UInt16) {
        self.state = state
        self.connection = connection
        self.originPort = originPort
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        isAnswering = true
        switch state.began(head.uri, on: connection) {
        case .reset:
            reset(context)
        case .relayedAsLast:
            if let stream = streamID(context) {
                let last = HTTP2Frame.FramePayload.goAway(
                    lastStreamID: stream, errorCode: .noError, opaqueData: nil)
                send(last, .rootStream)
            }
            relay(head, context)
        case .relayed:
            relay(head, context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish()
        origin?.close(promise: nil)
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { origin?.read() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func relay(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        var head = head
        head.version = .http1_1
        let bound = NIOLoopBound((self, head), eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(OriginHandler(bound.value.0, request: bound.value.1))
                }
            }
            .connect(host: "127.0.0.1", port: Int(originPort))
            .whenComplete { result in
                switch result {
                case .success(let channel): bound.value.0.connected(channel)
                case .failure: bound.value.0.abandon()
                }
            }
    }

    private func connected(_ channel: any Channel) {
        guard context?.channel.isActive == true else { return channel.close(promise: nil) }
        origin = channel
        channel.read()
    }

    private func reset(_ context: ChannelHandlerContext) {
        finish()
        if let stream = streamID(context) {
            send(.rstStream(.internalError), stream)
        } else {
            context.close(promise: nil)
        }
    }

    private func streamID(_ context: ChannelHandlerContext) -> HTTP2StreamID? {
        guard context.channel !== connection else { return nil }
        return try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
    }

    private func send(_ payload: HTTP2Frame.FramePayload, _ stream: HTTP2StreamID) {
        connection.writeAndFlush(HTTP2Frame(streamID: stream, payload: payload), promise: nil)
    }

    private func finish() {
        guard isAnswering else { return }
        isAnswering = false
        state.ended(on: connection)
    }

    // MARK: From the origin

    /// Whether the client takes more at this moment.
    var isWritable: Bool { context?.channel.isWritable ?? false }

    func answer(_ part: HTTPClientResponsePart) {
        guard let context else { return }
        switch part {
        case .head(var head):
            closesAfterwards = !head.isKeepAlive && context.channel === connection
            // These speak of the hop to the origin, and HTTP/2 forbids them.
            if context.channel !== connection {
                for name in ["Connection", "Keep-Alive", "Transfer-Encoding"] {
                    head.headers.remove(name: name)
                }
            }
            context.write(wrapOutboundOut(.head(head)), promise: nil)
        case .body(let bytes):
            context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        case .end:
            // Before the client can know: it may start its next request at once.
            finish()
            origin = nil
            let closes = closesAfterwards
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            if closes { context.close(promise: nil) }
        }
    }

    func flush() { context?.flush() }

    /// The origin has left before its response was whole.
    func abandon() {
        finish()
        context?.close(promise: nil)
    }
}
