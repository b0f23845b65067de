import NIOCore
import NIOPosix
import Synchronization

final class RunningServer: Sendable {
    typealias Loop = (any EventLoop, NIOLoopBoundBox<LoopConnections>)

    /// The number of seconds between two calls of ``recordAll()``.
    private static let period = 5

    private let group: MultiThreadedEventLoopGroup
    private let pool: NIOThreadPool
    private let listener: any Channel
    private let loops: [Loop]
    private let icons: IconStore
    private let missing: MissingList?
    private let metrics: ServerMetrics
    private let log: ServerLog
    private let limit: Int
    /// Whether a thread of the pool still does the regular work, and how often it was done.
    private let turns = Mutex((isBusy: false, count: 0))

    init(
        group: MultiThreadedEventLoopGroup, pool: NIOThreadPool, listener: any Channel,
        loops: [Loop], icons: IconStore, missing: MissingList?, metrics: ServerMetrics,
        log: ServerLog, limit: Int
    ) {
        self.group = group
        self.pool = pool
        self.listener = listener
        self.loops = loops
        self.icons = icons
        self.missing = missing
        self.metrics = metrics
        self.log = log
        self.limit = limit
    }

    func begin() {
        for (loop, connections) in loops {
            loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [self] _ in
                let open = metrics.openConnections.load(ordering: .relaxed)
                connections.value.sweep(isFull: open >= limit)
            }
        }
        loops[0].0.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) {
            [self] _ in keepUp()
        }
    }

    private func keepUp() {
        let turn: Int? = turns.withLock { turns in
            guard !turns.isBusy else { return nil }
            turns = (true, turns.count + 1)
            return turns.count
        }
        guard let turn else { return }
        pool.submit { [self] _ in
            icons.refresh()
            if turn % Self.period == 0 { recordAll() }
            turns.withLock { $0.isBusy = false }
        }
    }

    private func recordAll() {
        icons.recordUse()
        missing?.save(icons.cache, log)
    }

    /// Stops listening, and closes everything. Returns false if a response was cut off.
    func stop(grace: Duration) async -> Bool {
        try? await listener.close()
        for (loop, connections) in loops {
            try? await loop.submit { connections.value.drain() }.get()
        }
        let end = ContinuousClock.now + grace
        // Idle connections count until the client has ended them: it may not have read everything.
        var left = await connectionsLeft
        while left.open > 0, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
            left = await connectionsLeft
        }
        for (loop, connections) in loops {
            try? await loop.submit { connections.value.closeAll() }.get()
        }
        try? await pool.runIfActive { [self] in recordAll() }
        try? await group.shutdownGracefully()
        try? await pool.shutdownGracefully()
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
