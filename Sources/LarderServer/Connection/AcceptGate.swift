import Foundation
import NIOCore

/// Accepts no more connections than are allowed. The kernel keeps the others, and clients wait: to
/// accept and close them would make clients try again at once.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = Channel
    typealias InboundOut = Channel
    typealias OutboundIn = Never

    /// How long nobody is accepted if there is no descriptor for it: the kernel would say so again
    /// at once.
    private static let pause = TimeAmount.milliseconds(100)

    private let limit: Int
    private let metrics: ServerMetrics
    private var open = 0
    private var isPaused = false
    private var isWithheld = false

    init(limit: Int, metrics: ServerMetrics) {
        self.limit = limit
        self.metrics = metrics
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        open += 1
        metrics.connections.add(1, ordering: .relaxed)
        metrics.openConnections.store(open, ordering: .relaxed)
        let channel = unwrapInboundIn(data)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        channel.closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            let (gate, context) = bound.value
            gate.closed(context)
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        guard open < limit, !isPaused else {
            isWithheld = true
            return
        }
        context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !isPaused {
            isPaused = true
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: Self.pause) {
                let (gate, context) = bound.value
                gate.isPaused = false
                gate.goOn(context)
            }
        }
        context.fireErrorCaught(error)
    }

    private func closed(_ context: ChannelHandlerContext) {
        open -= 1
        metrics.openConnections.store(open, ordering: .relaxed)
        goOn(context)
    }

    private func goOn(_ context: ChannelHandlerContext) {
        guard isWithheld, open < limit, !isPaused else { return }
        isWithheld = false
        context.read()
    }
}

/// The connections of one event loop, and what they share. Used on that loop alone.
final class LoopConnections {
    private var handlers: [ObjectIdentifier: ConnectionHandler] = [:]
    private let limits: ConnectionLimits
    private var second = 0
    /// The `Date` line of this second, with its end.
    private(set) var dateLine: [UInt8] = []
    /// Whether connections end with the response that is under way.
    private(set) var isDraining = false

    init(_ limits: ConnectionLimits) {
        self.limits = limits
        renewDate()
    }

    /// How many there are, and how many of them have a response that is under way.
    var counts: (open: Int, busy: Int) {
        (handlers.count, handlers.values.count(where: \.isBusy))
    }

    func add(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = handler }

    func remove(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = nil }

    /// Closes what takes too long. Called every second: a task for each connection, made and
    /// cancelled with each request, would take longer than this look at all of them.
    func sweep(isFull: Bool) {
        renewDate()
        let now = NIODeadline.now()
        for handler in Array(handlers.values) { handler.checkTime(now, isCrowded: isFull) }
    }

    /// Ends idle connections at once, and the others with their response.
    func drain() {
        isDraining = true
        for handler in Array(handlers.values) { handler.drain() }
    }

    /// Ends all.
    func closeAll() {
        for handler in Array(handlers.values) { handler.abort() }
    }

    private func renewDate() {
        let now = time(nil)
        guard now != second else { return }
        second = now
        dateLine = Array("Date: \(HTTPDateText.text(now))\r\n".utf8)
    }
}

/// How long connections may take for what.
struct ConnectionLimits: Sendable {
    /// From a head's first byte to its last.
    let head: TimeAmount
    /// Without a request.
    let idle: TimeAmount
    /// Without a request, if others wait for a connection.
    let idleIfCrowded = TimeAmount.seconds(2)
    /// Without the client's taking anything.
    let stall: TimeAmount
    /// From the last response to the client's own end of the connection.
    let farewell = TimeAmount.seconds(2)

    init(_ configuration: ServerConfiguration) {
        head = TimeAmount(configuration.headTimeout)
        idle = TimeAmount(configuration.idleTimeout)
        stall = TimeAmount(configuration.stallTimeout)
    }
}
