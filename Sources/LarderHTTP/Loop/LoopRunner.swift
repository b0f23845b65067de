import CCurl
import LarderCore
import Logging

/// The loop: passes commands to libcurl, lets libcurl work, and ends finished transfers. Belongs to
/// the loop's thread.
final class LoopRunner {
    private let configuration: TransferConfiguration
    private let inbox: LoopInbox
    private let sockets: OpenSockets
    private let multi: MultiHandle
    private let sessions: SessionShare
    private let rateLimit: RateLimit?
    private var backlog: TransferBacklog
    private var underWay: [TransferID: EasyHandle] = [:]
    private var idle: [EasyHandle] = []

    init(
        configuration: TransferConfiguration, inbox: LoopInbox, sockets: OpenSockets
    ) throws(TransferError) {
        self.configuration = configuration
        self.inbox = inbox
        self.sockets = sockets
        multi = try MultiHandle(configuration: configuration, sockets: sockets)
        sessions = try SessionShare()
        rateLimit = configuration.maximumBytesPerSecond.map { RateLimit(bytesPerSecond: $0) }
        backlog = TransferBacklog(
            limit: configuration.maximumConnections,
            limitPerOrigin: configuration.maximumConnectionsPerHost,
            connectionsAhead: min(configuration.maximumConnectionsAhead, multi.idleConnections))
        // Created now, so that a libcurl that is too old is reported early and once.
        idle.append(try newHandle())
    }

    private func newHandle() throws(TransferError) -> EasyHandle {
        try EasyHandle(
            configuration: configuration, sessions: sessions, sockets: sockets,
            rateLimit: rateLimit, mayRequest: { [unowned self] in backlog.connected($0.order) })
    }

    /// The maximum length of the first wait after an event. With HTTP/2, libcurl may hold bytes for
    /// one stream that it read for another, until its own timer fires after a second
    /// (curl/curl#17636). Each call lets it look at all streams.
    private static let nap = Duration.milliseconds(10)

    /// Runs until ``LoopInbox/stop()``.
    func run() {
        do {
            var commands: [LoopInbox.Command] = []
            var isQuiet = false
            while inbox.take(&commands) {
                if !commands.isEmpty { isQuiet = false }
                for command in commands { carryOut(command) }
                commands.removeAll(keepingCapacity: true)
                for origin in sockets.takeLost() { backlog.disconnected(origin) }
                beginNext()
                // Queued transfers come before the others.
                resumeThrottled()
                try multi.perform()
                let isBusy = endFinished()
                if isBusy { isQuiet = false }
                if !isBusy, inbox.fallAsleep(multi.waker) {
                    let limit = [rateLimit?.delay(), isQuiet ? nil : Self.nap].compactMap(\.self)
                    isQuiet = try !multi.wait(atMost: limit.min())
                    inbox.wakeUp()
                }
            }
            end(commands, .cancelled, "cancelled: the transfers were shut down")
        } catch {
            end([], .other, error.message)
        }
    }

    private func carryOut(_ command: LoopInbox.Command) {
        switch command {
        case .start(let order): backlog.add(order)
        case .cancel(let id): cancel(id)
        case .resume(let id): resume(id)
        case .setPriority(let priority, let id):
            // It may wait for a slot once it is connected.
            underWay[id]?.transfer?.order.request.priority = priority
            backlog.setPriority(priority, of: id)
        }
    }

    private func beginNext() {
        while let order = backlog.next() {
            guard order.receiver.transferMayBegin(order.id) else {
                backlog.ended(order, reachable: !backlog.isUnreachable(order.origin))
                order.end(.abandoned, "the transfer was not wanted any more")
                continue
            }
            do throws(TransferError) {
                try begin(order)
            } catch {
                backlog.ended(order, reachable: true)
                order.end(error.code, error.message)
            }
        }
    }

    private func begin(_ order: PendingTransfer) throws(TransferError) {
        let handle = if let last = idle.popLast() { last } else { try newHandle() }
        do throws(TransferError) {
            // At an unreachable host, transfers that share a connection would wait for one connect
            // time-out after the other.
            try handle.begin(
                Transfer(order: order, configuration: configuration),
                sharesConnection: !backlog.isUnreachable(order.origin))
            try multi.add(handle)
        } catch {
            _ = handle.end()
            idle.append(handle)
            throw error
        }
        underWay[order.id] = handle
    }

    private func cancel(_ id: TransferID) {
        if let handle = underWay[id] {
            leave(handle, id, reachable: true)?.order.endAsCancelled()
        } else {
            backlog.remove(id)?.endAsCancelled()
        }
    }

    private func resume(_ id: TransferID) {
        guard let handle = underWay[id], handle.transfer?.isPaused == true else { return }
        resume(handle)
    }

    private func resume(_ handle: EasyHandle) {
        let code = handle.resume()
        if code != CURLE_OK { finish(handle, code) }
    }

    private func resumeThrottled() {
        guard let rateLimit else { return }
        while let id = rateLimit.next() {
            // It may have been cancelled.
            if let handle = underWay[id] { resume(handle) }
        }
    }

    /// Returns whether a transfer was finished.
    private func endFinished() -> Bool {
        var found = false
        while let (handle, code) = multi.nextFinished() {
            finish(handle, code)
            found = true
        }
        return found
    }

    private func finish(_ handle: EasyHandle, _ code: CURLcode) {
        guard let transfer = handle.transfer else { return }
        if handle.isHeldBack, code == CURLE_OK {
            release(handle, transfer.order.id)
            return backlog.putBack(transfer.order)
        }
        let outcome = TransferOutcome(
            transfer: transfer, handle: handle, curlCode: code, configuration: configuration
        ).result
        if let logger = configuration.logger {
            log(outcome, of: transfer.order.request.url, to: logger)
        }
        leave(handle, transfer.order.id, reachable: handle.isConnected)
        transfer.order.end(outcome)
    }

    private func log(
        _ outcome: Result<TransferMetrics, TransferError>, of url: HTTPURL, to logger: Logger
    ) {
        switch outcome {
        case .success(let metrics):
            logger.debug(
                "transfer ended",
                metadata: [
                    "url": url.logged, "bytes": "\(metrics.receivedBytes)",
                    "connection": metrics.reusedConnection ? "reused" : "new",
                ])
        case .failure(let error):
            logger.debug(
                "transfer failed", metadata: ["url": url.logged, "code": "\(error.code.rawValue)"])
        }
    }

    @discardableResult
    private func leave(_ handle: EasyHandle, _ id: TransferID, reachable: Bool) -> Transfer? {
        let transfer = release(handle, id)
        if let transfer { backlog.ended(transfer.order, reachable: reachable) }
        return transfer
    }

    @discardableResult
    private func release(_ handle: EasyHandle, _ id: TransferID) -> Transfer? {
        multi.remove(handle)
        underWay[id] = nil
        idle.append(handle)
        return handle.end()
    }

    /// Ends all transfers: in flight, waiting, and in the inbox.
    private func end(
        _ commands: [LoopInbox.Command], _ code: TransferError.Code, _ message: String
    ) {
        for (id, handle) in underWay.sorted(by: { $0.key.number < $1.key.number }) {
            leave(handle, id, reachable: true)?.order.end(code, message)
        }
        for order in backlog.removeAll() { order.end(code, message) }
        for case .start(let order) in commands + inbox.close(code, message) {
            order.end(code, message)
        }
    }
}
