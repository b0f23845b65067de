import LarderTestTLS
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS

/// One TLS connection to a front, trusting the tests' authority alone.
struct TLSClient {
    private let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer?

    /// Connects and agrees on a protocol.
    init(_ front: TLSFront, offer: [String] = ["h2", "http/1.1"]) async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(TestCertificates.authorityPath)
        configuration.applicationProtocols = offer
        let context = try NIOSSLContext(configuration: configuration)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let agreement = loop.makePromise(of: NIOHTTP2Handler.StreamMultiplexer?.self)
        channel = try await ClientBootstrap(group: loop).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                try pipeline.addHandler(Handshake(agreement))
            }
        }.connect(host: "127.0.0.1", port: Int(front.port)).get()
        multiplexer = try await agreement.futureResult.get()
    }

    /// Asks once; throws where the answer does not come whole.
    func get(_ path: String) async throws -> (status: UInt, body: String) {
        let answer = channel.eventLoop.makePromise(of: (status: UInt, body: String).self)
        let headers = HTTPHeaders([("Host", "127.0.0.1")])
        let request = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        @Sendable func ask(_ channel: any Channel, _ codec: Bool) -> EventLoopFuture<Void> {
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if codec {
                    try pipeline.addHandler(
                        HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .https))
                }
                try pipeline.addHandler(Asker(request, answer))
            }
        }
        if let multiplexer {
            _ = try await multiplexer.createStreamChannel { ask($0, true) }.get()
        } else {
            try await channel.eventLoop.flatSubmit { [channel] in ask(channel, false) }.get()
        }
        return try await answer.futureResult.get()
    }

    func close() async throws { try await channel.close().get() }
}

/// Sets up what the handshake came to, before anything more can arrive.
private final class Handshake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let agreement: EventLoopPromise<NIOHTTP2Handler.StreamMultiplexer?>

    init(_ agreement: EventLoopPromise<NIOHTTP2Handler.StreamMultiplexer?>) {
        self.agreement = agreement
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let name) = event as? TLSUserEvent {
            let pipeline = context.pipeline.syncOperations
            do {
                if name == "h2" {
                    let handler = NIOHTTP2Handler(
                        mode: .client, eventLoop: context.eventLoop,
                        inboundStreamInitializer: { $0.eventLoop.makeSucceededVoidFuture() })
                    try pipeline.addHandler(handler)
                    agreement.succeed(try handler.syncMultiplexer())
                } else {
                    try pipeline.addHTTPClientHandlers()
                    agreement.succeed(nil)
                }
            } catch {
                agreement.fail(error)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        agreement.fail(error)
        context.close(promise: nil)
    }
}

/// Sends one request and collects its answer.
private final class Asker: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart
    private let request: HTTPRequestHead
    private let answer: EventLoopPromise<(status: UInt, body: String)>
    private var collected = (status: UInt(0), body: "")

    init(_ request: HTTPRequestHead, _ answer: EventLoopPromise<(status: UInt, body: String)>) {
        self.request = request
        self.answer = answer
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { send(context) }
    }

    func channelActive(context: ChannelHandlerContext) { send(context) }

    private func send(_ context: ChannelHandlerContext) {
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.whenFailure { [answer] in answer.fail($0) }
        context.write(wrapOutboundOut(.head(request)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): collected.status = head.status.code
        case .body(let bytes): collected.body += String(buffer: bytes)
        case .end: answer.succeed(collected)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        answer.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.fail(ChannelError.inputClosed)
        context.fireChannelInactive()
    }
}
