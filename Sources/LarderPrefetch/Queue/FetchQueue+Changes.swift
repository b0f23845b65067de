/// What callers want of single URLs while the run goes on.
extension FetchQueue {
    /// So many are looked at before other work has its turn.
    private static let changesAtOnce = 32

    /// From any thread.
    func changesCame() {
        feeder.async { [self] in
            attempt { try makeChanges(atMost: Self.changesAtOnce) }
            feed()
        }
    }

    // MARK: - On the feeder's queue

    /// Carries out some of what is wanted.
    func makeChanges(atMost limit: Int) throws {
        for _ in 0..<limit {
            areChangesHeldUp = failuresUnderWay >= Self.failuresAhead
            guard !isStopping, !areChangesHeldUp, let (key, change) = inbox.next() else { return }
            guard let fetch = try plan.pendingFetch(ofKey: key) else { continue }
            switch change {
            case .priority(let priority):
                switch try schedule.setPriority(priority, of: fetch) {
                case .waits: break
                case .takenOut: operation(of: fetch)?.setPriority(priority)
                case .no: continue
                }
                for operation in fetchOperations { operation.withdraw(below: priority) }
            case .cancellation: try cancel(fetch)
            }
        }
        // Others come after what is waiting for the feeder.
        changesCame()
    }

    private func cancel(_ pending: PendingFetch) throws {
        switch try schedule.cancel(pending) {
        case .planned:
            reportLater(FetchResult(id: pending.id, result: .failure(.cancelledByCaller)))
        case .returned(let fetch):
            fail(fetch, .cancelledByCaller, attempts: fetch.attemptsBegun)
        case .takenOut: operation(of: pending)?.cancel()
        case .no: break
        }
    }

    /// Nil if its request has ended.
    private func operation(of fetch: PendingFetch) -> FetchOperation? {
        fetchOperations.first { $0.id == fetch.id }
    }

    private var fetchOperations: some Sequence<FetchOperation> {
        operations.operations.lazy.compactMap { $0 as? FetchOperation }
    }
}
