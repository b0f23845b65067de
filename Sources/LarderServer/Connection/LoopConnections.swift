import Foundation
import NIOCore

/// The connections of one event loop, and what they share. Used on that loop alone.
final class LoopConnections {
    private var handlers: [ObjectIdentifier: ConnectionHandler] = [:]
    private let limits: ConnectionLimits
    private var second = 0
    /// The `Date` line of this second, with its end.
    private(set) var dateLine: [UInt8] = []
    /// Whether connections end with the response that is under way.
    private(set) var isDraining = false

    init(_ limits: ConnectionLimits) {
        self.limits = limits
        renewDate()
    }

    /// How many there are, and how many of them have a response that is under way.
    var counts: (open: Int, busy: Int) {
        (handlers.count, handlers.values.count(where: \.isBusy))
    }

    func add(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = handler }

    func remove(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = nil }

    /// Closes what takes too long. Called every second: a task for each connection, made and
    /// cancelled with each request, would take longer than this look at all of them.
    func sweep(isFull: Bool) {
        renewDate()
        let now = NIODeadline.now()
        for handler in Array(handlers.values) { handler.checkTime(now, isCrowded: isFull) }
    }

    /// Ends idle connections at once, and the others with their response.
    func drain() {
        isDraining = true
        for handler in Array(handlers.values) { handler.drain() }
    }

    /// Ends all.
    func closeAll() {
        for handler in Array(handlers.values) { handler.abort() }
    }

    private func renewDate() {
        let now = time(nil)
        guard now != second else { return }
        second = now
        dateLine = Array("Date: \(HTTPDateText.text(now))\r\n".utf8)
    }
}
