import Foundation
import LarderCore
import LarderHTTP
import LarderIcons
import LarderImages
import Synchronization

/// Fetches icons for an `IconLoader` the way a ``Prefetcher`` does: with libcurl, over connections
/// that are kept, and only whole images.
///
/// One attempt is made: the loader remembers a failure for a while, and a person scrolls on.
public final class TransferFetcher: IconFetcher {
    /// Of a response's fields, those that say how long its bytes may be used.
    private static let kept = [
        "ETag", "Last-Modified", "Date", "Age", "Cache-Control", "Expires", "Vary",
    ]

    private let loop: TransferLoop
    private let policy: FetchPolicy
    private let allowsDowngrade: Bool
    private let acceptsAnyContent: Bool
    private let cancelled = Mutex<Int64>(0)

    /// How many bytes have come of bodies whose transfers were then cancelled.
    package var cancelledBytes: Int64 { cancelled.withLock { $0 } }

    /// A fetcher with connections of its own.
    ///
    /// - Parameters:
    ///   - transfer: how connections are made. Default: its defaults.
    ///   - headers: header fields to be sent. Default: none but those that larder itself needs.
    ///   - maximumBodyBytes: a longer body is refused. Default: 16 MiB.
    ///   - allowsDowngrade: whether redirects from https to http are followed. Default: false.
    ///   - acceptsAnyContent: whether something else than a whole image is taken. Default: false.
    /// - Throws: `TransferError` if connections cannot be made like that.
    public init(
        _ transfer: TransferConfiguration = .init(), headers: [HeaderRule] = [],
        maximumBodyBytes: Int64 = 16 << 20, allowsDowngrade: Bool = false,
        acceptsAnyContent: Bool = false
    ) throws {
        loop = try TransferLoop(configuration: transfer)
        policy = FetchPolicy(
            headers: RequestHeaders(
                rules: headers, userAgent: transfer.userAgent,
                usesNetrc: transfer.netrcFile != nil),
            maximumBodyBytes: maximumBodyBytes, storesUnstorable: false)
        self.allowsDowngrade = allowsDowngrade
        self.acceptsAnyContent = acceptsAnyContent
    }

    deinit {
        // Nobody waits for it: the last user may be the app's main thread.
        DispatchQueue.global(qos: .utility).async { [loop] in loop.shutdown() }
    }

    /// Fetches one icon, in one attempt.
    ///
    /// - Throws: `IconFailure`; `CancellationError`.
    public func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        do {
            return try await follow(request)
        } catch let failure as FetchFailure {
            throw IconFailure(
                .fetch, url: request.url, failure.message, underlying: failure,
                retryAfter: failure.retryAfter.map { $0 / .seconds(1) })
        }
    }

    private func follow(_ request: IconRequest) async throws -> FetchedIcon {
        let url: HTTPURL
        do throws(HTTPURL.ParseError) {
            url = try HTTPURL(request.url.absoluteString)
        } catch {
            throw IconFailure(.fetch, url: request.url, "\(error)", underlying: error)
        }
        var target = RequestTarget(url)
        while true {
            let body = ReceivedBody(target, policy)
            switch try await receive(body, of: request) {
            case .redirect(let location, let freshUntil):
                try target.follow(
                    location, freshUntil: freshUntil, allowsDowngrade: allowsDowngrade)
            case .body(let head, let bytes):
                return FetchedIcon(
                    data: Data(bytes), mediaType: try mediaType(of: bytes),
                    headers: Self.kept.flatMap { name in
                        head.headers.all(name).map { (name: name, value: $0) }
                    },
                    responseURL: target.redirects > 0 ? target.url.string : nil)
            }
        }
    }

    private func receive(
        _ body: ReceivedBody, of icon: IconRequest
    ) async throws -> ReceivedBody.Answer {
        // Before it is read, so that no change is missed.
        icon.onPriorityChange { [weak body] in body?.change(to: Self.priority($0)) }
        var request = policy.request(to: body.target, about: nil)
        request.priority = Self.priority(icon.priority)
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { waiter in
                    guard body.wait(waiter) else { return }
                    body.began(loop.start(request, receiver: body), on: loop)
                }
            } onCancel: {
                body.cancel()
            }
        } catch let error as CancellationError {
            cancelled.withLock { $0 += Int64(body.receivedBytes) }
            throw error
        }
    }

    /// Whole steps of a queue's priorities, around 0.
    private static func priority(_ priority: IconPriority) -> Int {
        (priority.rawValue - IconPriority.normal.rawValue) * 4
    }

    private func mediaType(of bytes: [UInt8]) throws -> String? {
        do {
            return try bytes.withUnsafeBytes { try ImageInspector.inspect($0) }.mediaType.rawValue
        } catch let fault as ImageFault {
            if acceptsAnyContent { return nil }
            throw FetchFailure(fault, mayBeCut: false)
        }
    }
}

/// One response on its way into memory, for the task that waits for it.
final class ReceivedBody: TransferReceiver {
    enum Answer: Sendable {
        case body(ResponseHead, [UInt8])
        case redirect(String, freshUntil: Date)
    }

    typealias Waiter = CheckedContinuation<Answer, any Error>

    /// Where the request goes.
    let target: RequestTarget
    private let policy: FetchPolicy
    private let state = Mutex(State())

    private struct State {
        var waiter: Waiter?
        var transfer: (id: TransferID, loop: TransferLoop)?
        var isCancelled = false
        /// Another priority than it began with.
        var priority: Int?
        var head: ResponseHead?
        var bytes: [UInt8] = []
        var received = 0
        /// Why the response was stopped on our side.
        var verdict: Result<Answer, FetchFailure>?
    }

    init(_ target: RequestTarget, _ policy: FetchPolicy) {
        self.target = target
        self.policy = policy
    }

    /// How many bytes have come.
    var receivedBytes: Int { state.withLock { $0.received } }

    /// - Returns: false if it is cancelled already: then `waiter` has heard of that.
    func wait(_ waiter: Waiter) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.waiter = waiter }
            return state.isCancelled
        }
        if isCancelled { waiter.resume(throwing: CancellationError()) }
        return !isCancelled
    }

    func began(_ id: TransferID, on loop: TransferLoop) {
        let (isCancelled, priority) = state.withLock { state in
            // Not if it has ended within `start`.
            if state.waiter != nil { state.transfer = (id, loop) }
            return (state.isCancelled, state.priority)
        }
        if let priority { loop.setPriority(priority, of: id) }
        if isCancelled { loop.cancel(id) }
    }

    /// Gives it another priority while it waits for its turn.
    func change(to priority: Int) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfer
        }
        if let (id, loop) = transfer { loop.setPriority(priority, of: id) }
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        if let (id, loop) = transfer { loop.cancel(id) }
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let verdict: Result<Answer, FetchFailure>? =
            switch policy.verdict(on: head, to: target, about: nil) {
            case .body: nil
            case .notModified: .failure(FetchFailure(status: head.status))
            case .redirect(let location, let freshUntil):
                .success(.redirect(location, freshUntil: freshUntil))
            case .failed(let failure): .failure(failure)
            }
        state.withLock { ($0.head, $0.verdict) = (head, verdict) }
        return verdict == nil
    }

    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        // The loop keeps to the limit.
        state.withLock { state in
            state.bytes.append(contentsOf: bytes)
            state.received += bytes.count
        }
        return .proceed
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        let state = state.withLock { state in
            defer { (state.waiter, state.transfer, state.bytes) = (nil, nil, []) }
            return state
        }
        guard let waiter = state.waiter else { return }
        if state.isCancelled { return waiter.resume(throwing: CancellationError()) }
        if let verdict = state.verdict { return waiter.resume(with: verdict.mapError { $0 }) }
        switch (result, state.head) {
        case (.success, let head?): waiter.resume(returning: .body(head, state.bytes))
        case (.success, nil):
            waiter.resume(throwing: FetchFailure(.cancelled, "the transfer was given up"))
        case (.failure(let error), _): waiter.resume(throwing: FetchFailure(error))
        }
    }
}
