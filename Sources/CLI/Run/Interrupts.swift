import Foundation
import LarderCache
import Synchronization

/// The handler of SIGINT, SIGTERM and SIGHUP. If the run has called ``ask(_:_:)``, the first signal
/// asks the run to stop, and the second ends the process. Without this call, the first signal ends
/// the process. An ignored SIGHUP stays ignored, for nohup(1).
final class Interrupts: Sendable {
    private struct State {
        var signal: Int32?
        var ask: (@Sendable () -> Void)?
    }

    private let isQuiet: Bool
    private let state = Mutex(State())
    var signal: Int32? { state.withLock { $0.signal } }

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
        for number in [SIGINT, SIGTERM, SIGHUP] {
            if number == SIGHUP, Self.isIgnored(number) { continue }
            SignalWatch.start(number) { [self] in handle(number) }
        }
    }

    var status: ExitStatus { Self.status(of: signal ?? SIGINT) }

    private static func status(of signal: Int32) -> ExitStatus {
        signal == SIGINT ? .interrupted : .terminated
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        let former = Foundation.signal(number, SIG_IGN)
        // Functions cannot be compared, but their addresses can.
        guard unsafeBitCast(former, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) else {
            return true
        }
        _ = Foundation.signal(number, former)
        return false
    }

    /// Sets the response to the first signal: a message, unless the run is quiet, and `ask`.
    func ask(
        _ message: String = "finishing work in progress", _ ask: @escaping @Sendable () -> Void = {}
    ) {
        state.withLock { [isQuiet] state in
            state.ask = {
                if !isQuiet { Console.complain("\(message); interrupt again to exit at once") }
                ask()
            }
        }
    }

    /// Whether a signal has asked the run to stop. The first access calls ``ask(_:_:)`` if the run
    /// has not, because a run that reads this property stops by itself.
    var isAsked: Bool {
        let (isAskable, isAsked) = state.withLock { ($0.ask != nil, $0.signal != nil) }
        if !isAskable { ask() }
        return isAsked
    }

    private func handle(_ number: Int32) {
        let (isFirst, ask) = state.withLock { state in
            let isFirst = state.signal == nil
            state.signal = state.signal ?? number
            return (isFirst, isFirst ? state.ask : nil)
        }
        // If no thread can be started, the run cannot stop by itself.
        if let ask, HelperThread.start({}) { return ask() }
        Console.statusLine.erase()
        // A quiet run has not reported the first signal.
        if isFirst || isQuiet { Console.complain("interrupted") }
        _exit(Self.status(of: number).rawValue)
    }
}
