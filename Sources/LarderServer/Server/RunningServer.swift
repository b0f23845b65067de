import NIOCore
import NIOPosix
import Synchronization

/// A server that listens: its threads, its tasks, its end.
final class RunningServer: Sendable {
    typealias Loop = (any EventLoop, NIOLoopBoundBox<LoopConnections>)

    /// Seconds between what is done every few of them.
    private static let period = 5

    private let group: MultiThreadedEventLoopGroup
    private let pool: NIOThreadPool
    private let listener: any Channel
    private let loops: [Loop]
    private let upkeep: ServerUpkeep
    private let metrics: ServerMetrics
    private let limit: Int
    /// Whether the pool still has the last upkeep to do, and how often it was done.
    private let turns = Mutex((isBusy: false, count: 0))

    init(
        group: MultiThreadedEventLoopGroup, pool: NIOThreadPool, listener: any Channel,
        loops: [Loop], upkeep: ServerUpkeep, metrics: ServerMetrics, limit: Int
    ) {
        self.group = group
        self.pool = pool
        self.listener = listener
        self.loops = loops
        self.upkeep = upkeep
        self.metrics = metrics
        self.limit = limit
    }

    /// Starts the tasks of every second.
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
            turns.isBusy = true
            turns.count += 1
            return turns.count
        }
        guard let turn else { return }
        pool.submit { [self] _ in
            upkeep.everySecond()
            if turn % Self.period == 0 { upkeep.everyFewSeconds() }
            turns.withLock { $0.isBusy = false }
        }
    }

    /// Stops listening, waits for responses, and closes everything.
    ///
    /// - Returns: false if one was cut off.
    func stop(grace: Duration) async -> Bool {
        try? await listener.close()
        for (loop, connections) in loops {
            try? await loop.submit { connections.value.drain() }.get()
        }
        let end = ContinuousClock.now + grace
        // Those that are not busy are waited for, too, until the client has ended the connection:
        // it may not have read all yet.
        var left = await connectionsLeft
        while left.open > 0, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
            left = await connectionsLeft
        }
        for (loop, connections) in loops {
            try? await loop.submit { connections.value.closeAll() }.get()
        }
        try? await pool.runIfActive { [upkeep] in upkeep.everyFewSeconds() }
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

/// What a server does now and then.
final class ServerUpkeep: Sendable {
    private let store: IconStore
    private let uses: UseNotes
    private let missing: MissingList?
    private let onProblem: @Sendable (String) -> Void

    init(
        _ store: IconStore, _ uses: UseNotes, _ missing: MissingList?,
        onProblem: @escaping @Sendable (String) -> Void
    ) {
        self.store = store
        self.uses = uses
        self.missing = missing
        self.onProblem = onProblem
    }

    /// Called every second, and by one thread at a time.
    func everySecond() { store.refresh() }

    /// The same every few seconds, and at the end.
    func everyFewSeconds() {
        uses.record(in: store.reader)
        guard let missing else { return }
        if missing.takeIsFull() {
            onProblem("the list of missing icons is full: no more URLs are noted")
        }
        do {
            try missing.save(store.reader)
        } catch {
            onProblem("the list of missing icons: \(error)")
        }
    }
}

/// Lets a few messages a minute through: clients can cause any number.
final class ProblemGate: Sendable {
    private static let mostAMinute = 20

    private let tell: @Sendable (String) -> Void
    private let state = Mutex((since: ContinuousClock.now, count: 0))

    init(_ tell: @escaping @Sendable (String) -> Void) { self.tell = tell }

    func report(_ message: String) {
        let isTold = state.withLock { state in
            if ContinuousClock.now - state.since > .seconds(60) { state = (.now, 0) }
            state.count += 1
            return state.count <= Self.mostAMinute
        }
        if isTold { tell(message) }
    }
}
