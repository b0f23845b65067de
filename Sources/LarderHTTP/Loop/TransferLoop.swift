import CCurl
import Foundation
import LarderCore
import Logging
import Synchronization

/// A loop that runs transfers concurrently. Transfers start immediately, so callers must limit
/// their number. Redirects are returned as responses, so the next request passes the same checks.
/// The loop is a chain of blocks on a serial queue. Each block is a round, which ends with a wait
/// for the network. To end the wait, other threads must call ``perform(_:)``.
package final class TransferLoop: @unchecked Sendable {
    // Unchecked because all variables are atomic or are used only on the queue.

    package let queue = DispatchQueue(label: "larder.loop")
    package let connectionsAhead: Int
    /// Called on the queue in each round. Returns the latest time for the next round, or nil.
    package var onRound: (() -> ContinuousClock.Instant?)?

    private let configuration: TransferConfiguration
    private let sockets: OpenSockets
    private let rateLimit: RateLimit?
    /// Nil after the loop has ended. Other threads must hold `multiLock` to wake the multi handle.
    private var multi: MultiHandle?
    private let multiLock = Mutex(())
    private var end: TransferError?
    private var commands: [Command] = []
    private var inFlight: [TransferID: EasyHandle] = [:]
    private var idle: [EasyHandle] = []
    private var hasNextRound = false
    private var isDue = false
    private var isQuiet = false

    private let lastNumber = Atomic<UInt64>(0)
    /// The number of blocks from ``perform(_:)`` and ``sync(_:)`` that have not started.
    private let posted = Atomic<Int>(0)
    private let isWaiting = Atomic<Bool>(false)

    private enum Command {
        case start(PendingTransfer)
        case cancel(TransferID)
        case resume(TransferID)
    }

    private static let queueOfThread = DispatchSpecificKey<ObjectIdentifier>()

    /// After a longer wait, libcurl may deliver HTTP/2 bytes a second late (curl/curl#17636).
    private static let firstWait = Duration.milliseconds(10)

    /// Creates a loop on a serial queue. Callers must first check that threads can be created,
    /// because libdispatch waits forever if a thread cannot start.
    /// - Throws: An error if a configured file is unreadable or libcurl is too old.
    package init(configuration: TransferConfiguration) throws(TransferError) {
        let files = [
            ("certificate authorities", configuration.certificateAuthorities),
            ("client certificate", configuration.clientCertificate?.certificate),
            ("client key", configuration.clientCertificate?.key),
            ("netrc", configuration.netrcFile),
        ]
        for case (let name, let file?) in files where access(file, R_OK) != 0 {
            throw TransferError(.tls, "\(name): \(file): \(String(cString: strerror(errno)))")
        }
        self.configuration = configuration
        sockets = try OpenSockets(logger: configuration.logger)
        let multi = try MultiHandle(configuration: configuration, sockets: sockets)
        self.multi = multi
        // With more connections ahead, libcurl would close idle connections that are needed later.
        connectionsAhead = min(configuration.maximumConnectionsAhead, multi.idleConnections / 2)
        rateLimit = configuration.maximumBytesPerSecond.map { RateLimit(bytesPerSecond: $0) }
        // If libcurl is too old, the first handle fails here.
        try addHandle()
        queue.setSpecific(key: Self.queueOfThread, value: ObjectIdentifier(queue))
    }

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

    /// Runs `body` on the queue and waits for it. Must not be called on the queue.
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

    /// Starts a transfer, which retains its receiver until the end. Can be called on any thread.
    @discardableResult
    package func start(_ request: TransferRequest, receiver: any TransferReceiver) -> TransferID {
        let id = TransferID(number: lastNumber.add(1, ordering: .relaxed).newValue)
        post(.start(PendingTransfer(id: id, request: request, receiver: receiver)))
        return id
    }

    package func cancel(_ id: TransferID) { post(.cancel(id)) }

    package func resume(_ id: TransferID) { post(.resume(id)) }

    /// Cancels all current and future transfers, and waits until they have ended. Called on the
    /// queue, it does not wait.
    package func shutdown() {
        let error = TransferError(.cancelled, "cancelled: the transfers were shut down")
        // On the queue, the caller may be a libcurl callback, which must not end transfers.
        if isOnQueue { perform { [self] in endAll(error) } } else { sync { endAll(error) } }
    }

    private func post(_ command: Command) {
        if isOnQueue { take(command) } else { perform { [self] in take(command) } }
    }

    // MARK: - On the queue
    package func isConnected(to origin: String) -> Bool {
        if sockets.isOpen(to: origin) { return true }
        // A connection to an HTTP proxy serves all hosts of http URLs.
        guard !configuration.proxies.isEmpty, let url = try? HTTPURL(origin), url.scheme == .http
        else { return false }
        return configuration.proxies.proxy(for: url)?.isHTTP == true
    }

    package var hasEnded: Bool { end != nil }

    package func scheduleRound() {
        isDue = true
        guard !hasNextRound else { return }
        hasNextRound = true
        queue.async { self.round() }
    }

    /// Queues the command, because the caller may be a libcurl callback.
    private func take(_ command: Command) {
        if let end {
            if case .start(let order) = command { order.end(.failure(end)) }
            return
        }
        commands.append(command)
        scheduleRound()
    }

    private func round() {
        guard let multi else {
            hasNextRound = false
            _ = onRound?()
            return
        }
        do {
            isDue = false
            if !commands.isEmpty { isQuiet = false }
            executeCommands(multi)
            while let id = rateLimit?.next() {
                if let handle = inFlight[id] { resume(handle) }
            }
            try multi.perform()
            var isBusy = false
            while let (handle, code) = multi.nextFinished() {
                finish(handle, code)
                isBusy = true
            }
            let next = onRound?()
            if isBusy || isDue || !commands.isEmpty {
                isQuiet = false
            } else if inFlight.isEmpty, next == nil {
                return hasNextRound = false
            } else {
                try wait(until: next, multi)
            }
            queue.async { self.round() }
        } catch {
            hasNextRound = false
            endAll(error)
            _ = onRound?()
        }
    }

    private func wait(
        until next: ContinuousClock.Instant?, _ multi: MultiHandle
    ) throws(TransferError) {
        let limits = [
            next.map { $0 - .now }, rateLimit?.delay(),
            isQuiet || inFlight.isEmpty ? nil : Self.firstWait,
        ]
        let limit = limits.compactMap(\.self).min()
        if let limit, limit <= .zero { return }
        isWaiting.store(true, ordering: .sequentiallyConsistent)
        // A block posted before `isWaiting` was set could not end the wait.
        if posted.load(ordering: .sequentiallyConsistent) == 0 {
            isQuiet = try !multi.wait(atMost: limit)
        }
        isWaiting.store(false, ordering: .sequentiallyConsistent)
    }

    private func executeCommands(_ multi: MultiHandle) {
        while !commands.isEmpty {
            switch commands.removeFirst() {
            case .start(let order): begin(order, multi)
            case .cancel(let id):
                if let handle = inFlight[id] {
                    release(handle, id)?.order.end(.failure(TransferError(.cancelled, "cancelled")))
                }
            case .resume(let id):
                if let handle = inFlight[id], handle.transfer?.isPaused == true { resume(handle) }
            }
        }
    }

    private func begin(_ order: PendingTransfer, _ multi: MultiHandle) {
        do throws(TransferError) {
            if idle.isEmpty { try addHandle() }
            let handle = idle[idle.count - 1]
            try handle.begin(Transfer(order: order, configuration: configuration))
            try multi.add(handle)
            inFlight[order.id] = idle.removeLast()
        } catch {
            _ = idle.last?.end()
            order.end(.failure(error))
        }
    }

    private func addHandle() throws(TransferError) {
        idle.append(
            try EasyHandle(configuration: configuration, sockets: sockets, rateLimit: rateLimit))
    }

    private func resume(_ handle: EasyHandle) {
        let code = curl_easy_pause(handle.pointer, CURLPAUSE_CONT)
        if code != CURLE_OK { finish(handle, code) }
    }

    private func finish(_ handle: EasyHandle, _ code: CURLcode) {
        guard let transfer = handle.transfer else { return }
        let outcome = handle.outcome(of: transfer, code)
        let (url, logger) = (transfer.order.request.url, configuration.logger)
        switch outcome {
        case .success(let metrics):
            logger?.debug(
                "transfer ended",
                metadata: [
                    "url": url.logged, "bytes": "\(metrics.receivedBytes)",
                    "connection": metrics.reusedConnection ? "reused" : "new",
                ])
        case .failure(let error):
            logger?.debug(
                "transfer failed", metadata: ["url": url.logged, "code": "\(error.code.rawValue)"])
        }
        release(handle, transfer.order.id)
        transfer.order.end(outcome)
    }

    @discardableResult
    private func release(_ handle: EasyHandle, _ id: TransferID) -> Transfer? {
        multi?.remove(handle)
        inFlight[id] = nil
        idle.append(handle)
        return handle.end()
    }

    private func endAll(_ error: TransferError) {
        guard end == nil else { return }
        end = error
        for (id, handle) in inFlight.sorted(by: { $0.key.number < $1.key.number }) {
            release(handle, id)?.order.end(.failure(error))
        }
        for case .start(let order) in commands { order.end(.failure(error)) }
        (commands, idle) = ([], [])
        multiLock.withLock { _ in multi = nil }
    }
}
