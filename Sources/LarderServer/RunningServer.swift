import NIOCore
import NIOPosix
import Synchronization

final class RunningServer: Sendable {
    typealias Loop = (any EventLoop, NIOLoopBoundBox<LoopConnections>)

    private static let recordInterval = 5

    private let answerer: RequestAnswerer
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel
    private let loops: [Loop]
    private let missing: MissingList?
    private let limit: Int
    private let maintenance = Mutex((isRunning: false, count: 0))

    init(
        _ answerer: RequestAnswerer, group: MultiThreadedEventLoopGroup, listener: any Channel,
        loops: [Loop], missing: MissingList?, limit: Int
    ) {
        (self.answerer, self.group, self.listener) = (answerer, group, listener)
        (self.loops, self.missing, self.limit) = (loops, missing, limit)
    }

    func begin() {
        for (loop, connections) in loops {
            loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [self] _ in
                let open = answerer.metrics.openConnections.load(ordering: .relaxed)
                connections.value.sweep(isFull: open >= limit)
            }
        }
        loops[0].0.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) {
            [self] _ in maintain()
        }
    }

    private func maintain() {
        let number: Int? = maintenance.withLock { state in
            guard !state.isRunning else { return nil }
            state = (true, state.count + 1)
            return state.count
        }
        guard let number else { return }
        answerer.pool.submit { [self] _ in
            answerer.icons.refresh()
            if number % Self.recordInterval == 0 { recordAll() }
            maintenance.withLock { $0.isRunning = false }
        }
    }

    private func recordAll() {
        answerer.icons.cache.recordUse()
        missing?.save(answerer.icons.cache, answerer.log)
    }

    func stop(grace: Duration) async -> Bool {
        try? await listener.close()
        for (loop, connections) in loops {
            try? await loop.submit { connections.value.drain() }.get()
        }
        let end = ContinuousClock.now + grace
        // Idle connections count until the client closes them, because it may still be reading.
        var left = await connectionsLeft
        while left.open > 0, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
            left = await connectionsLeft
        }
        for (loop, connections) in loops {
            try? await loop.submit { connections.value.closeAll() }.get()
        }
        try? await answerer.pool.runIfActive { [self] in recordAll() }
        try? await group.shutdownGracefully()
        try? await answerer.pool.shutdownGracefully()
        return left.busy == 0
    }

    private var connectionsLeft: (open: Int, busy: Int) {
        get async {
            var sum = (open: 0, busy: 0)
            for (loop, connections) in loops {
                let counts = try? await loop.submit { connections.value.counts }.get()
                sum.open += counts?.open ?? 0
                sum.busy += counts?.busy ?? 0
            }
            return sum
        }
    }
}
