import Foundation
import LarderCache
import LarderCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// The connection of one client, used only on its event loop. To limit memory, the handler does not
/// read while requests are waiting or the client does not read responses. It buffers at most the
/// channel's high watermark and one small icon.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private enum Activity { case idle, answering, sending }

    private static let crowdedIdleTimeout = TimeAmount.seconds(2)
    private static let closeTimeout = TimeAmount.seconds(2)
    /// The maximum size in bytes of a body in the head's buffer. Two buffers would be slower.
    private static let smallBody = 16 << 10

    private let answerer: RequestAnswerer
    private let connections: LoopConnections
    /// Requests that wait for earlier responses. One read can add dozens.
    private var queue: [ServerRequest] = []
    private var context: ChannelHandlerContext?
    private let client = Client()
    private var activity = Activity.idle
    private var isEnding = false
    private var inputEnd: NIODeadline?
    private var isReadPending = false
    private var hasUnflushed = false
    private var isAdvancing = false
    private var hasRead = false
    private var isInHead = false
    private var deadline: NIODeadline?
    private var idleSince = NIODeadline.now()
    private var backlog: (bytes: Int, since: NIODeadline)?
    private var start = ContinuousClock.now
    private var isLast = false
    private var lent: LentFile?
    /// The number of bytes of a manifest that have not been read yet.
    private var left: Int64 = 0

    init(_ answerer: RequestAnswerer, _ connections: LoopConnections) {
        (self.answerer, self.connections) = (answerer, connections)
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
            // The received bytes are the beginning of a head that is not complete yet.
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

    private var mayAnswer: Bool {
        activity == .idle && !isEnding && !queue.isEmpty && context?.channel.isWritable ?? false
    }

    private func advance() {
        guard !isAdvancing, let context else { return }
        isAdvancing = true
        repeat {
            while mayAnswer { begin(queue.removeFirst(), on: context.eventLoop) }
            if hasUnflushed {
                hasUnflushed = false
                context.flush()
            }
        } while mayAnswer
        isAdvancing = false
        if activity == .idle, queue.isEmpty { rest() }
        resumeReading()
    }

    private func resumeReading() {
        guard isReadPending, mayRead, let context else { return }
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
        if answerer.configuration.accessLog != nil { start = .now }
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
        guard let context else { return }
        isLast =
            response.isLast || !request.isKeepAlive || connections.isDraining
            || inputEnd != nil && queue.isEmpty
        defer { if isLast, activity == .idle { end() } }
        var response = response
        let hasBody = !request.isHead && response.hasLength
        var file: NIOFileHandle?
        if hasBody, case .file(let lent, _) = response.body {
            do {
                file = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: try lent.descriptor())
            } catch {
                answerer.log.problem("\(error)")
                response = Response(503, text: "Too many files are open.")
            }
        }
        var head = head(of: response, request, context)
        answerer.configuration.accessLog?(
            accessLine(request, response.status, hasBody ? response.length : 0))
        hasUnflushed = true
        func write(_ bytes: ByteBuffer) {
            context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: nil)
        }
        guard hasBody else { return write(head) }
        switch response.body {
        case .bytes(var bytes):
            answerer.metrics.bytes.add(bytes.readableBytes, ordering: .relaxed)
            if bytes.readableBytes <= Self.smallBody {
                head.writeBuffer(&bytes)
                return write(head)
            }
            write(head)
            write(bytes)
        case .file(let lent, let range):
            guard let file else { return }
            write(head)
            (self.lent, activity) = (lent, .sending)
            let (start, end) = (Int(range.lowerBound), Int(range.upperBound))
            let region = FileRegion(fileHandle: file, readerIndex: start, endIndex: end)
            let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(.fileRegion(region))).whenComplete { result in
                try? file.close()
                handler.value.sent(range.count, result)
            }
        case .chunks(let text):
            write(head)
            context.flush()
            (left, activity) = (text.length, .sending)
            sendNext(of: text)
        }
    }

    private func accessLine(_ request: ServerRequest, _ status: Int, _ bytes: Int64) -> String {
        var object: JSONObject = [
            "time": UTCTime.timestamp(Date()), "client": address, "method": request.method.rawValue,
        ]
        object.set("target", exactly: TargetMask.shown(request.target))
        object.set(["status": status, "bytes": bytes])
        object.set("seconds", fine: (ContinuousClock.now - start) / .seconds(1))
        return object.text + "\n"
    }

    private func head(
        of response: Response, _ request: ServerRequest, _ context: ChannelHandlerContext
    ) -> ByteBuffer {
        var capacity = 256 + response.fields.count
        if case .bytes(let bytes) = response.body, bytes.readableBytes <= Self.smallBody {
            capacity += bytes.readableBytes
        }
        var head = context.channel.allocator.buffer(capacity: capacity)
        head.writeBytes(response.statusLine)
        head.writeBytes(connections.dateLine)
        head.writeBytes(response.fields)
        if response.hasLength {
            head.writeStaticString("Content-Length: ")
            head.writeString(String(response.length))
            head.writeStaticString("\r\n")
        }
        if isLast {
            head.writeStaticString("Connection: close\r\n")
        } else if request.isOld {
            head.writeStaticString("Connection: keep-alive\r\n")
        }
        head.writeStaticString("\r\n")
        return head
    }

    private func sendNext(of text: ManifestText) {
        guard let loop = context?.eventLoop else { return }
        let handler = NIOLoopBound(self, eventLoop: loop)
        answerer.pool.runIfActive(eventLoop: loop) { try text.next() }
            .whenComplete { handler.value.send($0, of: text) }
    }

    private func send(_ piece: Result<ByteBuffer?, any Error>, of text: ManifestText) {
        guard let context else { return }
        guard case .success(let bytes?) = piece, bytes.readableBytes <= left else { return abort() }
        let count = bytes.readableBytes
        left -= Int64(count)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(bytes))).whenComplete { result in
            handler.value.sent(count, result, of: text)
        }
    }

    private func sent(
        _ count: Int, _ result: Result<Void, any Error>, of text: ManifestText? = nil
    ) {
        guard case .success = result else { return abort() }
        answerer.metrics.bytes.add(count, ordering: .relaxed)
        guard context != nil else { return }
        if let text, left > 0 { return sendNext(of: text) }
        (activity, lent) = (.idle, nil)
        if isLast { end() }
        advance()
    }

    /// Closes the connection after all responses, and after the client has closed its side, because
    /// a client that is still sending would lose the response.
    private func end() {
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
        resumeReading()
    }

    var isBusy: Bool { context != nil && (activity != .idle || !queue.isEmpty) }

    func drain() { if activity == .idle, queue.isEmpty { end() } }

    func abort() { context?.close(promise: nil) }

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
        // A client that has closed its side may be gone, so it is not served after the timeout.
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
                "slow client", metadata: ["client": "\(address)", "reason": "\(reason)"])
        }
        abort()
    }

    private func log(_ event: Logger.Message) {
        answerer.log.logger?.debug(event, metadata: ["client": "\(address)"])
    }

    private var address: String { context?.remoteAddress?.ipAddress ?? "" }
}
