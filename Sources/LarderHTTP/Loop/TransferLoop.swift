import CCurl
import DequeModule
import Dispatch
import Foundation
import LarderCore
import Logging
import Synchronization

/// Fetches URLs concurrently, in the order of the starts. It makes no decisions.
///
/// Connections are kept and shared, HTTP/2 is used if a server offers it over TLS, certificates are
/// verified, and the environment (proxies, `.netrc`) is ignored. A redirect is returned as a
/// response: the request that follows it then passes the same checks.
///
/// The loop is a chain of blocks of a serial queue. Each block is a round: it carries out commands,
/// lets libcurl work, ends finished transfers and waits for the network. An owner whose state
/// belongs to the same queue, such as an operation queue on top of it, needs neither locks nor a
/// second thread. A block from elsewhere that cannot wait must come through ``perform(_:)``.
package final class TransferLoop: @unchecked Sendable {
    // Unchecked because the state is variables. They belong to the queue, except the atomic ones.

    package let queue: DispatchQueue
    /// The maximum number of connections that wait for their first request.
    package let connectionsAhead: Int
    /// Called on the queue at the end of a round, when finished transfers have ended. Returns when
    /// the next round is due at the latest, nil for no limit.
    package var onRound: (() -> ContinuousClock.Instant?)?

    private let configuration: TransferConfiguration
    private let sockets: OpenSockets
    private let sessions: SessionShare
    private let rateLimit: RateLimit?
    /// Nil after the end. Any thread may wake it, holding `multiLock`.
    private var multi: MultiHandle?
    private let multiLock = Mutex(())
    /// Origins whose last transfer had no connection.
    private var unreachable: Set<String> = []
    private var end: (code: TransferError.Code, message: String)?
    private var commands: [Command] = []
    private var waiting: Deque<PendingTransfer> = []
    private var underWay: [TransferID: EasyHandle] = [:]
    /// The number of transfers under way that only connect.
    private var connecting = 0
    private var idle: [EasyHandle] = []
    private var isTurning = false
    /// Whether the next round must not be waited for: a block that came before it has work for it.
    private var isDue = false
    /// Whether the last wait ended without an event.
    private var isQuiet = false

    private let lastNumber = Atomic<UInt64>(0)
    /// Blocks of ``perform(_:)`` and ``sync(_:)`` that have not begun.
    private let posted = Atomic<Int>(0)
    private let isWaiting = Atomic<Bool>(false)

    private enum Command {
        case start(PendingTransfer)
        case cancel(TransferID)
        case resume(TransferID)
        case stop
    }

    private static let queueOfThread = DispatchSpecificKey<ObjectIdentifier>()

    /// The maximum length of the first wait after an event. With HTTP/2, libcurl may hold bytes for
    /// one stream that it read for another, until its own timer fires after a second
    /// (curl/curl#17636). Each call lets it look at all streams.
    private static let nap = Duration.milliseconds(10)

    /// - Parameter queue: A serial queue. Default: one of its own.
    /// - Throws: ``TransferError`` if a file of the configuration cannot be read, libcurl is older
    ///   than 7.88, or the system has no memory. Without a thread for the queue, Dispatch waits for
    ///   one: programs check that before.
    package init(
        configuration: TransferConfiguration = .init(),
        queue: DispatchQueue = DispatchQueue(label: "larder.loop")
    ) throws(TransferError) {
        let files = [
            ("certificate authorities", configuration.certificateAuthorities),
            ("client certificate", configuration.clientCertificate?.certificate),
            ("client key", configuration.clientCertificate?.key),
            ("netrc", configuration.netrcFile),
        ]
        for case (let name, let file?) in files where access(file, R_OK) != 0 {
            let reason = String(cString: strerror(errno))
            throw TransferError(code: .tls, message: "\(name): \(file): \(reason)")
        }
        self.queue = queue
        self.configuration = configuration
        sockets = OpenSockets(logger: configuration.logger)
        let multi = try MultiHandle(configuration: configuration, sockets: sockets)
        self.multi = multi
        // More connections would close idle ones that are needed again.
        connectionsAhead = min(configuration.maximumConnectionsAhead, multi.idleConnections / 2)
        sessions = try SessionShare()
        rateLimit = configuration.maximumBytesPerSecond.map { RateLimit(bytesPerSecond: $0) }
        // Created now, so that a libcurl that is too old is reported early and once.
        idle.append(try newHandle())
        queue.setSpecific(key: Self.queueOfThread, value: ObjectIdentifier(queue))
    }

    /// Runs a block on the queue soon. May be called on any thread.
    package func perform(_ body: @escaping @Sendable () -> Void) {
        posted.add(1, ordering: .sequentiallyConsistent)
        queue.async { [self] in
            posted.subtract(1, ordering: .sequentiallyConsistent)
            body()
        }
        endWait()
    }

    private func endWait() {
        guard isWaiting.exchange(false, ordering: .sequentiallyConsistent) else { return }
        multiLock.withLock { _ in multi?.wake() }
    }

    /// Runs a function on the queue soon, and returns its result. Must not be called on the queue.
    package func sync<Result>(_ body: () -> Result) -> Result {
        posted.add(1, ordering: .sequentiallyConsistent)
        endWait()
        return queue.sync {
            posted.subtract(1, ordering: .sequentiallyConsistent)
            return body()
        }
    }

    private var isOnQueue: Bool {
        DispatchQueue.getSpecific(key: Self.queueOfThread) == ObjectIdentifier(queue)
    }

    /// Queues a transfer, and returns at once. The receiver is kept until it has received the end,
    /// which it does exactly once. May be called on any thread, like the functions below.
    @discardableResult
    package func start(_ request: TransferRequest, receiver: any TransferReceiver) -> TransferID {
        let id = TransferID(number: lastNumber.add(1, ordering: .relaxed).newValue)
        post(.start(PendingTransfer(id: id, request: request, receiver: receiver)))
        return id
    }

    package func cancel(_ id: TransferID) { post(.cancel(id)) }

    /// Continues a transfer whose receiver returned ``ReceiveVerdict/pause``.
    package func resume(_ id: TransferID) { post(.resume(id)) }

    /// Cancels all transfers, and returns once they have ended. If a receiver calls it, it returns
    /// at once. Transfers that start later end as cancelled.
    package func shutdown() {
        // On the queue, libcurl may be calling.
        if isOnQueue { take(.stop) } else { sync { stop() } }
    }

    private func post(_ command: Command) {
        if isOnQueue { take(command) } else { perform { [self] in take(command) } }
    }

    // MARK: - On the queue

    /// Whether a connection to an origin (``HTTPURL/origin``) is open or in progress.
    package func isConnected(to origin: String) -> Bool {
        if sockets.isOpen(to: origin) { return true }
        // Each connection to an HTTP proxy serves all hosts of http URLs.
        guard !configuration.proxies.isEmpty, let url = try? HTTPURL(origin), url.scheme == .http
        else { return false }
        return configuration.proxies.proxy(for: url)?.isHTTP == true
    }

    /// Whether all transfers have ended, and later ones end at once.
    package var hasEnded: Bool { end != nil }

    /// Makes sure that there is a next round.
    package func goOn() {
        isDue = true
        guard !isTurning else { return }
        isTurning = true
        queue.async { self.round() }
    }

    /// Not carried out at once, since a receiver may call, and libcurl with it.
    private func take(_ command: Command) {
        if let end {
            if case .start(let order) = command { order.end(end.code, end.message) }
            return
        }
        commands.append(command)
        goOn()
    }

    private func round() {
        guard let multi else {
            isTurning = false
            _ = onRound?()
            return
        }
        do {
            isDue = false
            if !commands.isEmpty { isQuiet = false }
            carryOutCommands(multi)
            guard end == nil else { return isTurning = false }
            resumeThrottled()
            beginNext(multi)
            try multi.perform()
            let isBusy = endFinished(multi)
            let next = onRound?()
            guard end == nil else { return isTurning = false }
            if isBusy || isDue || !commands.isEmpty {
                isQuiet = false
            } else if underWay.isEmpty, next == nil {
                return isTurning = false
            } else {
                try wait(until: next, multi)
            }
            queue.async { self.round() }
        } catch {
            isTurning = false
            endAll(.other, error.message)
            _ = onRound?()
        }
    }

    private func wait(
        until next: ContinuousClock.Instant?, _ multi: MultiHandle
    ) throws(TransferError) {
        let limits = [
            next.map { $0 - .now }, rateLimit?.delay(),
            isQuiet || underWay.isEmpty ? nil : Self.nap,
        ]
        let limit = limits.compactMap(\.self).min()
        if let limit, limit <= .zero { return }
        isWaiting.store(true, ordering: .sequentiallyConsistent)
        // A block that was posted before would not have ended the wait.
        if posted.load(ordering: .sequentiallyConsistent) == 0 {
            isQuiet = try !multi.wait(atMost: limit)
        }
        isWaiting.store(false, ordering: .sequentiallyConsistent)
    }

    private func carryOutCommands(_ multi: MultiHandle) {
        var index = 0
        while index < commands.count {
            switch commands[index] {
            // Its owner limits their number.
            case .start(let order) where order.request.onlyConnects: begin(order, multi)
            case .start(let order): waiting.append(order)
            case .cancel(let id): cancelNow(id)
            case .resume(let id): resumeNow(id)
            case .stop:
                commands.removeFirst(index + 1)
                return stop()
            }
            index += 1
        }
        commands.removeAll(keepingCapacity: true)
    }

    private func beginNext(_ multi: MultiHandle) {
        while underWay.count - connecting < max(1, configuration.maximumConnections),
            let order = waiting.popFirst()
        { begin(order, multi) }
    }

    private func begin(_ order: PendingTransfer, _ multi: MultiHandle) {
        do throws(TransferError) {
            try tryToBegin(order, multi)
        } catch {
            order.end(error.code, error.message)
        }
    }

    private func tryToBegin(
        _ order: PendingTransfer, _ multi: MultiHandle
    ) throws(TransferError) {
        let handle = if let last = idle.popLast() { last } else { try newHandle() }
        do throws(TransferError) {
            // At an unreachable host, transfers that share a connection would wait for one time-out
            // after the other.
            var order = order
            if !unreachable.isEmpty, unreachable.contains(order.origin) {
                order.request.sharesConnection = false
            }
            try handle.begin(Transfer(order: order, configuration: configuration))
            try multi.add(handle)
        } catch {
            _ = handle.end()
            idle.append(handle)
            throw error
        }
        underWay[order.id] = handle
        if order.request.onlyConnects { connecting += 1 }
    }

    private func newHandle() throws(TransferError) -> EasyHandle {
        try EasyHandle(
            configuration: configuration, sessions: sessions, sockets: sockets,
            rateLimit: rateLimit)
    }

    private func cancelNow(_ id: TransferID) {
        if let handle = underWay[id] {
            release(handle, id)?.order.endAsCancelled()
        } else if let place = waiting.firstIndex(where: { $0.id == id }) {
            waiting.remove(at: place).endAsCancelled()
        }
    }

    private func resumeNow(_ id: TransferID) {
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
    private func endFinished(_ multi: MultiHandle) -> Bool {
        var found = false
        while let (handle, code) = multi.nextFinished() {
            finish(handle, code)
            found = true
        }
        return found
    }

    private func finish(_ handle: EasyHandle, _ code: CURLcode) {
        guard let transfer = handle.transfer else { return }
        let outcome = handle.outcome(of: transfer, code)
        if let logger = configuration.logger {
            log(outcome, of: transfer.order.request.url, to: logger)
        }
        if case .failure(let error) = outcome, error.code.isUnreachable {
            unreachable.insert(transfer.order.origin)
        } else if !unreachable.isEmpty, handle.isConnected {
            unreachable.remove(transfer.order.origin)
        }
        release(handle, transfer.order.id)
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
    private func release(_ handle: EasyHandle, _ id: TransferID) -> Transfer? {
        multi?.remove(handle)
        underWay[id] = nil
        idle.append(handle)
        let transfer = handle.end()
        if transfer?.order.request.onlyConnects == true { connecting -= 1 }
        return transfer
    }

    private func stop() { endAll(.cancelled, "cancelled: the transfers were shut down") }

    /// Ends all transfers, and closes all connections.
    private func endAll(_ code: TransferError.Code, _ message: String) {
        guard end == nil else { return }
        end = (code, message)
        for (id, handle) in underWay.sorted(by: { $0.key.number < $1.key.number }) {
            release(handle, id)?.order.end(code, message)
        }
        for order in waiting { order.end(code, message) }
        for case .start(let order) in commands { order.end(code, message) }
        (waiting, commands, idle) = ([], [], [])
        multiLock.withLock { _ in multi = nil }
    }
}
