import LarderCache
import NIOCore
import NIOHTTP1

/// One client's connection: its requests one after another, and their responses.
///
/// What a client costs is bounded. Nothing is read while responses wait for it to take them, and of
/// those no more is written than the channel's high watermark and one small icon; a large body is
/// sent from its file. Belongs to its event loop.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// What is being done for the request at hand.
    enum Activity {
        /// There is none.
        case idle
        /// Its answer is looked for on another thread.
        case answering
        /// Its body is on its way.
        case sending
    }

    let answerer: RequestAnswerer
    let connections: LoopConnections
    private let limits: ConnectionLimits
    /// Requests that have been read and not begun. Nothing is read while there are any: one reading
    /// holds a few dozen at most.
    private var queue: [ServerRequest] = []
    private(set) var context: ChannelHandlerContext?
    private let client = Client()
    var activity = Activity.idle
    /// Whether the last response has been written, or nothing is to follow anyway.
    private var isEnding = false
    /// Whether the client sends no more.
    private var isInputOver = false
    /// Since when, if it does not.
    private var inputOverSince = NIODeadline.now()
    private var isReadWithheld = false
    /// Whether anything was written since the last flush.
    var hasUnflushed = false
    private var isAdvancing = false
    /// Whether a part of a request came since the last complete reading.
    private var hasRead = false
    private var isInHead = false
    /// When the connection is closed unless something happens before; nil: not at all.
    private var deadline: NIODeadline?
    private var idleSince = NIODeadline.now()
    /// What the client had not taken when that was last looked at, and since when.
    private var backlog: (bytes: Int, since: NIODeadline)?
    /// What is sent of a file.
    var lent: LentFile?
    /// Of the request at hand, for the log.
    var entry: AccessEntry?

    init(_ answerer: RequestAnswerer, _ connections: LoopConnections, _ limits: ConnectionLimits) {
        self.answerer = answerer
        self.connections = connections
        self.limits = limits
    }

    // MARK: - From the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connections.add(self)
        deadline = idleSince + limits.idle
    }

    func channelActive(context: ChannelHandlerContext) {
        // Accepted just before the end.
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
            // What came is the beginning of a head.
            isInHead = true
            deadline = .now() + limits.head
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
            isInputOver = true
            inputOverSince = .now()
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
        guard mayRead else {
            isReadWithheld = true
            return
        }
        context.read()
    }

    private var mayRead: Bool {
        isEnding || queue.isEmpty && context?.channel.isWritable ?? false
    }

    private func leave() {
        guard context != nil else { return }
        context = nil
        client.leave()
        queue = []
        connections.remove(self)
    }

    // MARK: - Requests

    /// Does whatever can be done now.
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
        guard isReadWithheld, mayRead, self.context != nil else { return }
        isReadWithheld = false
        context.read()
    }

    /// Nothing is to be done.
    private func rest() {
        if isInputOver || connections.isDraining {
            if isEnding, isInputOver { abort() } else { end() }
        } else if deadline == nil {
            idleSince = .now()
            deadline = idleSince + limits.idle
        }
    }

    private func begin(_ request: ServerRequest, on loop: any EventLoop) {
        if answerer.accessLog != nil { entry = AccessEntry(request, context?.remoteAddress) }
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
            || isInputOver && queue.isEmpty
        write(response, to: request)
        if response.isLast, activity == .idle { end() }
    }

    /// The body has been written, or could not be.
    ///
    /// - Parameter isWhole: whether all of it has been taken.
    func sent(isWhole: Bool, isLast: Bool) {
        guard context != nil else { return }
        activity = .idle
        lent = nil
        guard isWhole else { return abort() }
        if isLast { end() }
        advance()
    }

    // MARK: - The end

    /// Ends the connection once all that was written is taken. The client's end is waited for: one
    /// that still sends would else lose the response, too.
    func end() {
        guard !isEnding, let context else { return }
        isEnding = true
        queue = []
        activity = .sending
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer()))).whenComplete { _ in
            handler.value.sayFarewell()
        }
    }

    private func sayFarewell() {
        guard let context else { return }
        activity = .idle
        if isInputOver { return abort() }
        deadline = .now() + limits.farewell
        context.close(mode: .output, promise: nil)
        guard isReadWithheld else { return }
        isReadWithheld = false
        context.read()
    }

    /// Whether a response is still to be made or sent.
    var isBusy: Bool { context != nil && (activity != .idle || !queue.isEmpty) }

    /// Ends the connection with the response that is under way, or now if there is none.
    func drain() {
        if activity == .idle, queue.isEmpty { end() }
    }

    /// Closes the connection at once.
    func abort() { context?.close(promise: nil) }

    /// Closes the connection if it takes too long.
    ///
    /// - Parameter isCrowded: whether others wait for one.
    func checkTime(_ now: NIODeadline, isCrowded: Bool) {
        guard let context else { return }
        let bytes =
            (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? nil ?? 0
        guard bytes == 0 else {
            guard let backlog, backlog.bytes == bytes else {
                self.backlog = (bytes, now)
                return
            }
            if now - backlog.since >= limits.stall { timeOut() }
            // The rest of it would be waited for without an end.
            if let lent, lent.isShortened { abort() }
            return
        }
        backlog = nil
        // A client that has closed only its own direction cannot be told from a disconnected one.
        // It gets answers that take less than this.
        if activity == .answering, isInputOver, now - inputOverSince >= limits.farewell {
            return abort()
        }
        guard activity == .idle, let deadline else { return }
        let isIdle = !isInHead && !isEnding && now - idleSince >= limits.idleIfCrowded
        if now >= deadline || isCrowded && isIdle { timeOut() }
    }

    private func timeOut() {
        if !isEnding { answerer.metrics.timeouts.add(1, ordering: .relaxed) }
        abort()
    }
}
