import Foundation
import NIOCore

/// A limit on open connections. Further connections wait in the kernel's queue, because clients
/// would immediately retry closed connections.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = Channel
    typealias InboundOut = Channel
    typealias OutboundIn = Never

    /// The pause after an error such as EMFILE, which would otherwise occur again immediately.
    private static let pause = TimeAmount.milliseconds(100)

    private let limit: Int
    private let metrics: ServerMetrics
    private let log: ServerLog
    private var open = 0
    private var isPaused = false
    private var isReadPending = false

    init(limit: Int, metrics: ServerMetrics, log: ServerLog) {
        (self.limit, self.metrics, self.log) = (limit, metrics, log)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        metrics.connections.add(1, ordering: .relaxed)
        count(1)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            let (gate, context) = bound.value
            gate.count(-1)
            gate.resumeReading(context)
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        if open < limit, !isPaused { return context.read() }
        if !isReadPending, !isPaused {
            log.warning("connection limit reached", ["connections": "\(open)"])
        }
        isReadPending = true
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !isPaused {
            isPaused = true
            log.warning("connection not accepted", ["error": "\(error)"])
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: Self.pause) {
                let (gate, context) = bound.value
                gate.isPaused = false
                gate.resumeReading(context)
            }
        }
        context.fireErrorCaught(error)
    }

    private func count(_ change: Int) {
        open += change
        metrics.openConnections.store(open, ordering: .relaxed)
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadPending, open < limit, !isPaused else { return }
        isReadPending = false
        context.read()
    }
}

/// The connections of an event loop, used only on that loop.
final class LoopConnections {
    private var handlers: [ObjectIdentifier: ConnectionHandler] = [:]
    private(set) var dateLine: [UInt8] = []
    private(set) var isDraining = false

    init() { renewDate() }

    var counts: (open: Int, busy: Int) { (handlers.count, handlers.values.count(where: \.isBusy)) }

    func add(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = handler }
    func remove(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = nil }

    /// Closes connections that have timed out. A task for each connection would cost more.
    func sweep(isFull: Bool) {
        renewDate()
        let now = NIODeadline.now()
        for handler in Array(handlers.values) { handler.checkTime(now, isCrowded: isFull) }
    }

    func drain() {
        isDraining = true
        for handler in Array(handlers.values) { handler.drain() }
    }

    func closeAll() { for handler in Array(handlers.values) { handler.abort() } }

    /// Updates ``dateLine``, the `Date` field (RFC 9110, section 5.6.7), including its CRLF.
    private func renewDate() {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 64)
        // The names of days and months are in English, because the program sets no locale.
        let count = strftime(&text, text.count, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts)
        dateLine = text.prefix(count).map(UInt8.init)
    }
}
