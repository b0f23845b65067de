import Foundation
import LarderIcons

/// A fetcher whose answers the test gives, or of which it says what all are.
final class ScriptedFetcher: IconFetcher, @unchecked Sendable {
    // Unchecked because there are variables; every access holds `lock`.
    private final class Waiting: @unchecked Sendable {
        // Unchecked because there are variables; every access holds the fetcher's `lock`.
        var waiter: CheckedContinuation<FetchedIcon, any Error>?
        var isOver = false
    }

    private let lock = NSLock()
    private var under: [String: [Waiting]] = [:]
    private var log: [URL] = []
    private var answerable = 0
    private var changes: [(String, IconPriority)] = []
    private var cancellations = 0
    private var running = 0
    private var most = 0
    private let answer: (@Sendable (URL) throws -> FetchedIcon)?

    /// - Parameter answer: to every request, at once. Default: nil, see ``finish(_:_:)``.
    init(_ answer: (@Sendable (URL) throws -> FetchedIcon)? = nil) { self.answer = answer }

    /// What was asked for, in that order.
    var asked: [String] { lock.withLock { log.map(\.lastPathComponent) } }
    var count: Int { lock.withLock { log.count } }
    var cancelled: Int { lock.withLock { cancellations } }
    var mostAtOnce: Int { lock.withLock { most } }
    var priorities: [IconPriority] { lock.withLock { changes.map(\.1) } }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        let url = request.url
        lock.withLock {
            log.append(url)
            changes.append((url.lastPathComponent, request.priority))
            running += 1
            most = max(most, running)
        }
        defer { lock.withLock { running -= 1 } }
        request.onPriorityChange { [weak self] priority in
            self?.lock.withLock { self?.changes.append((url.lastPathComponent, priority)) }
        }
        if let answer {
            await Task.yield()
            try Task.checkCancellation()
            return try answer(url)
        }
        let waiting = Waiting()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let isOver = lock.withLock {
                    if !waiting.isOver { waiting.waiter = waiter }
                    under[url.lastPathComponent, default: []].append(waiting)
                    answerable += 1
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

    /// Answers the last request for an icon.
    func finish(_ name: String, _ result: Result<FetchedIcon, any Error>) {
        let waiter = lock.withLock {
            let waiting = under[name]?.popLast()
            waiting?.isOver = true
            defer { waiting?.waiter = nil }
            return waiting?.waiter
        }
        waiter?.resume(with: result)
    }

    /// Waits until so many requests were made, and can be answered.
    func wait(for count: Int) async {
        await until { (answer == nil ? lock.withLock { answerable } : self.count) >= count }
    }
}

/// Lets other tasks run until it is so.
func until(_ isSo: @Sendable () -> Bool) async {
    while !isSo() { await Task.yield() }
}
