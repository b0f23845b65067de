import Foundation
import LarderIcons

/// A fetcher whose responses the test gives one by one, or as a function of the URL.
final class ScriptedFetcher: IconFetcher, @unchecked Sendable {
    // Unchecked because of its variables; every access holds `lock`.
    private final class Waiting: @unchecked Sendable {
        // Unchecked because of its variables; every access holds the fetcher's `lock`.
        var waiter: CheckedContinuation<FetchedIcon, any Error>?
        var isOver = false
    }

    private let lock = NSLock()
    private var pending: [String: [Waiting]] = [:]
    private var log: [URL] = []
    private var pendingCount = 0
    private var changes: [(String, IconPriority)] = []
    private var cancellations = 0
    private var running = 0
    private var maximum = 0
    private let respond: (@Sendable (URL) throws -> FetchedIcon)?

    /// - Parameter respond: Returns the response to each request. If nil, requests wait for
    ///   ``finish(_:_:)``.
    init(_ respond: (@Sendable (URL) throws -> FetchedIcon)? = nil) { self.respond = respond }

    /// The last path components of the requested URLs, in order.
    var requested: [String] { lock.withLock { log.map(\.lastPathComponent) } }
    var count: Int { lock.withLock { log.count } }
    var cancelled: Int { lock.withLock { cancellations } }
    var maximumConcurrent: Int { lock.withLock { maximum } }
    var priorities: [IconPriority] { lock.withLock { changes.map(\.1) } }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        let url = request.url
        lock.withLock {
            log.append(url)
            changes.append((url.lastPathComponent, request.priority))
            running += 1
            maximum = max(maximum, running)
        }
        defer { lock.withLock { running -= 1 } }
        request.onPriorityChange { [weak self] priority in
            self?.lock.withLock { self?.changes.append((url.lastPathComponent, priority)) }
        }
        if let respond {
            await Task.yield()
            try Task.checkCancellation()
            return try respond(url)
        }
        let waiting = Waiting()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let isOver = lock.withLock {
                    if !waiting.isOver { waiting.waiter = waiter }
                    pending[url.lastPathComponent, default: []].append(waiting)
                    pendingCount += 1
                    return waiting.isOver
                }
                if isOver { waiter.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let waiter = lock.withLock {
                cancellations += 1
                waiting.isOver = true
                defer { waiting.waiter = nil }
                return waiting.waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Responds to the last request for an icon.
    func finish(_ name: String, _ result: Result<FetchedIcon, any Error>) {
        let waiter = lock.withLock {
            let waiting = pending[name]?.popLast()
            waiting?.isOver = true
            defer { waiting?.waiter = nil }
            return waiting?.waiter
        }
        waiter?.resume(with: result)
    }

    /// Waits until this number of requests has arrived and can be finished.
    func wait(for count: Int) async {
        await until { (respond == nil ? lock.withLock { pendingCount } : self.count) >= count }
    }
}

/// Lets other tasks run until the condition is true.
func until(_ condition: @Sendable () -> Bool) async {
    while !condition() { await Task.yield() }
}
