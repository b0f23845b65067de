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
