import Foundation

/// Fetches URLs, many at once, on one thread.
///
///     let loop = try TransferLoop(configuration: TransferConfiguration())
///     loop.start(TransferRequest(url: url), receiver: receiver)
///
/// Connections are kept and shared, HTTP/2 is used if a server offers it over TLS, certificates
/// are verified, and nothing of the environment (proxies, `.netrc`) has a say of its own. A
/// redirect is handed back as the response it is: the request that follows it then passes the same
/// checks.
///
/// Every function may be called on any thread, within a receiver's too.
package final class TransferLoop: Sendable {
    private let inbox: LoopInbox
    private let sockets = OpenSockets()
    private let thread: LoopThread

    /// Starts the thread.
    ///
    /// - Throws: ``TransferError`` if one of the configuration's files cannot be read, libcurl is
    ///   too old (before 7.88), or the system has no memory or thread to give.
    package init(configuration: TransferConfiguration = .init()) throws(TransferError) {
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
        let inbox = LoopInbox()
        let runner = try LoopRunner(
            configuration: configuration, inbox: inbox, sockets: sockets)
        guard let thread = LoopThread(runner) else {
            throw TransferError(code: .other, message: "the system has no thread to give")
        }
        self.inbox = inbox
        self.thread = thread
    }

    deinit {
        shutdown()
    }

    /// Begins a transfer as soon as ``TransferConfiguration/maximumConnections`` and
    /// ``TransferConfiguration/maximumConnectionsPerHost`` have room for it; returns at once.
    ///
    /// - Parameter receiver: kept until it hears the end, which it does exactly once, always.
    @discardableResult
    package func start(_ request: TransferRequest, receiver: any TransferReceiver) -> TransferID {
        inbox.start(request, receiver)
    }

    /// Ends a transfer as ``TransferError/Code-swift.enum/cancelled``; of one that has ended, or
    /// was never there, nothing is heard.
    package func cancel(_ id: TransferID) {
        inbox.post(.cancel(id))
    }

    /// Changes ``TransferRequest/priority``. Of a transfer whose request was sent, nothing changes.
    package func setPriority(_ priority: Int, of id: TransferID) {
        inbox.post(.setPriority(priority, id))
    }

    /// Ends a transfer as ``TransferError/Code-swift.enum/abandoned`` if it waits for its turn; one
    /// that was begun goes on.
    package func withdraw(_ id: TransferID) {
        inbox.post(.withdraw(id))
    }

    /// Goes on with a transfer whose receiver answered ``ReceiveVerdict/pause``.
    package func resume(_ id: TransferID) {
        inbox.post(.resume(id))
    }

    /// Whether a connection is open, or being made, that was made for requests to an origin.
    ///
    /// - Parameter origin: scheme, host and port, as ``HTTPURL/origin`` has them.
    package func isConnected(to origin: String) -> Bool { sockets.isOpen(to: origin) }

    /// Cancels all transfers, those waiting included, and returns once everybody has heard their
    /// end and the thread is gone; within a receiver's call it returns at once instead. What is
    /// started afterwards ends as cancelled. Calling it again does no harm.
    package func shutdown() {
        inbox.stop()
        thread.join()
    }
}
