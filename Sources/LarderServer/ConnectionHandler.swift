import LarderCache
import Logging
import NIOCore
import NIOHTTP1

/// The connection of one client, used only on its event loop.
///
/// To limit memory, the handler does not read while requests are waiting or the client does not
/// read responses. It buffers at most the channel's high watermark and one small icon.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    enum Activity { case idle, answering, sending }

    private static let crowdedIdleTimeout = TimeAmount.seconds(2)
    private static let closeTimeout = TimeAmount.seconds(2)

    let answerer: RequestAnswerer
    let connections: LoopConnections
    /// Requests that wait for earlier responses. One read can add dozens.
    private var queue: [ServerRequest] = []
    private(set) var context: ChannelHandlerContext?
    private let client = Client()
    var activity = Activity.idle
    private var isEnding = false
    private var inputEnd: NIODeadline?
    private var isReadPending = false
    var hasUnflushed = false
    private var isAdvancing = false
    private var hasRead = false
    private var isInHead = false
    private var deadline: NIODeadline?
    private var idleSince = NIODeadline.now()
    /// The number of buffered bytes, and the time of its last change.
    private var backlog: (bytes: Int, since: NIODeadline)?
    var lent: LentFile?
    var entry: AccessEntry?

    init(_ answerer: RequestAnswerer, _ connections: LoopConnections) {
        self.answerer = answerer
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connections.add(self)
        deadline = idleSince + TimeAmount(answerer.configuration.idleTimeout)
        log("connection opened")
    }

    func channelActive(context: ChannelHandlerContext) {
        if connections.isDraining { drain() }
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasRead = true
        guard !isEnding, case .head(let head) = unwrapInboundIn(data) else { return }
        queue.append(ServerRequest(head, from: client))
        isInHead = false
        deadline = nil
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !hasRead, !isInHead, activity == .idle, !isEnding {
            // Bytes without a complete part are the beginning of a head.
            isInHead = true
            deadline = .now() + TimeAmount(answerer.configuration.headTimeout)
        }
        hasRead = false
        advance()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        advance()
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            inputEnd = .now()
            advance()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return abort() }
        guard !isEnding, queue.last?.refusal == nil else { return }
        let status =
            switch error {
            case .headerOverflow: 431
            case .invalidVersion: 505
            case .invalidMethod: 501
            default: 400
            }
        queue.append(ServerRequest(refusedWith: status))
        advance()
    }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { isReadPending = true }
    }

    private var mayRead: Bool { isEnding || queue.isEmpty && context?.channel.isWritable ?? false }

    private func leave() {
        guard context != nil else { return }
        log("connection closed")
        context = nil
        client.leave()
        queue = []
        connections.remove(self)
    }

    func advance() {
        guard !isAdvancing, let context else { return }
        isAdvancing = true
        repeat {
            while activity == .idle, !isEnding, !queue.isEmpty, context.channel.isWritable {
                begin(queue.removeFirst(), on: context.eventLoop)
            }
            if hasUnflushed {
                hasUnflushed = false
                context.flush()
            }
        } while activity == .idle && !isEnding && !queue.isEmpty && context.channel.isWritable
            && self.context != nil
        isAdvancing = false
        if activity == .idle, queue.isEmpty { rest() }
        guard isReadPending, mayRead, self.context != nil else { return }
        isReadPending = false
        context.read()
    }

    private func rest() {
        if inputEnd != nil || connections.isDraining {
            if isEnding, inputEnd != nil { abort() } else { end() }
        } else if deadline == nil {
            idleSince = .now()
            deadline = idleSince + TimeAmount(answerer.configuration.idleTimeout)
        }
    }

    private func begin(_ request: ServerRequest, on loop: any EventLoop) {
        if answerer.configuration.accessLog != nil {
            entry = AccessEntry(request, context?.remoteAddress)
        }
        let handler = NIOLoopBound(self, eventLoop: loop)
        let response = answerer.answer(request) { response in
            loop.execute { handler.value.answered(response, request) }
        }
        if let response { respond(response, request) } else { activity = .answering }
    }

    private func answered(_ response: Response, _ request: ServerRequest) {
        guard context != nil else { return }
        activity = .idle
        respond(response, request)
        advance()
    }

    private func respond(_ response: Response, _ request: ServerRequest) {
        var response = response
        response.isLast =
            response.isLast || !request.isKeepAlive || connections.isDraining
            || inputEnd != nil && queue.isEmpty
        write(response, to: request)
        if response.isLast, activity == .idle { end() }
    }

    func sent(isWhole: Bool, isLast: Bool) {
        guard context != nil else { return }
        activity = .idle
        lent = nil
        guard isWhole else { return abort() }
        if isLast { end() }
        advance()
    }

    /// Closes the connection after all responses, and after the client has closed its side, because
    /// a client that is still sending would lose the response.
    func end() {
        guard !isEnding, let context else { return }
        isEnding = true
        queue = []
        activity = .sending
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer()))).whenComplete { _ in
            handler.value.closeOutput()
        }
    }

    private func closeOutput() {
        guard let context else { return }
        activity = .idle
        if inputEnd != nil { return abort() }
        deadline = .now() + Self.closeTimeout
        context.close(mode: .output, promise: nil)
        guard isReadPending else { return }
        isReadPending = false
        context.read()
    }

    var isBusy: Bool { context != nil && (activity != .idle || !queue.isEmpty) }

    func drain() {
        if activity == .idle, queue.isEmpty { end() }
    }

    func abort() { context?.close(promise: nil) }

    /// Closes the connection if it has timed out. The timeout is shorter for idle connections of a
    /// full server.
    func checkTime(_ now: NIODeadline, isCrowded: Bool) {
        guard let context else { return }
        let bytes =
            (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? nil ?? 0
        guard bytes == 0 else {
            guard let backlog, backlog.bytes == bytes else {
                self.backlog = (bytes, now)
                return
            }
            if now - backlog.since >= TimeAmount(answerer.configuration.stallTimeout) {
                timeOut("stalled")
            }
            // The rest of a shortened file cannot be sent.
            if let lent, lent.isShortened { abort() }
            return
        }
        backlog = nil
        // A client that has stopped sending may have disconnected, so its response must be ready
        // within the timeout.
        if activity == .answering, let inputEnd, now - inputEnd >= Self.closeTimeout {
            return abort()
        }
        guard activity == .idle, let deadline else { return }
        let isIdle = !isInHead && !isEnding && now - idleSince >= Self.crowdedIdleTimeout
        if now >= deadline || isCrowded && isIdle { timeOut(isInHead ? "slow head" : "idle") }
    }

    private func timeOut(_ reason: String) {
        if !isEnding {
            answerer.metrics.timeouts.add(1, ordering: .relaxed)
            answerer.log.logger?.info(
                "slow client",
                metadata: [
                    "client": "\(context?.remoteAddress?.ipAddress ?? "")", "reason": "\(reason)",
                ])
        }
        abort()
    }

    private func log(_ event: Logger.Message) {
        answerer.log.logger?.debug(
            event, metadata: ["client": "\(context?.remoteAddress?.ipAddress ?? "")"])
    }
}
