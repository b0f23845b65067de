import NIOCore

/// Accepts no more connections than are allowed. The kernel keeps the others, and clients wait: to
/// accept and close them would make clients try again at once.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = Channel
    typealias InboundOut = Channel
    typealias OutboundIn = Never

    private let limit: Int
    private let metrics: ServerMetrics
    private var open = 0
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
        let (gate, context) = (NIOLoopBound(self, eventLoop: context.eventLoop), context)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        channel.closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            gate.value.closed(bound.value)
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        guard open < limit else {
            isWithheld = true
            return
        }
        context.read()
    }

    private func closed(_ context: ChannelHandlerContext) {
        open -= 1
        metrics.openConnections.store(open, ordering: .relaxed)
        guard isWithheld, open < limit else { return }
        isWithheld = false
        context.read()
    }
}
