import Foundation
import NIOCore

/// The connections of one event loop, and what they share. Used only on that loop.
final class LoopConnections {
    private var handlers: [ObjectIdentifier: ConnectionHandler] = [:]
    private var second: time_t = 0
    private(set) var dateLine: [UInt8] = []
    private(set) var isDraining = false

    init() { renewDate() }

    var counts: (open: Int, busy: Int) { (handlers.count, handlers.values.count(where: \.isBusy)) }

    func add(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = handler }
    func remove(_ handler: ConnectionHandler) { handlers[ObjectIdentifier(handler)] = nil }

    /// Closes connections that take too long. Called every second: a task for each would cost more.
    func sweep(isFull: Bool) {
        renewDate()
        let now = NIODeadline.now()
        for handler in Array(handlers.values) { handler.checkTime(now, isCrowded: isFull) }
    }

    func drain() {
        isDraining = true
        for handler in Array(handlers.values) { handler.drain() }
    }

    func closeAll() {
        for handler in Array(handlers.values) { handler.abort() }
    }

    private func renewDate() {
        let now = time(nil)
        guard now != second else { return }
        second = now
        dateLine = HeadLine.date(now)
    }
}
