import Foundation
import LarderCache
import Synchronization

/// The first SIGINT, SIGTERM or SIGHUP asks a run to end, once it can be asked. Before that, and
/// the second time, the program leaves at once. An ignored SIGHUP stays ignored, for nohup(1).
final class Interrupts: Sendable {
    private struct State {
        var signal: Int32?
        /// Asks the run to end. Nil if nothing would be lost by leaving.
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

    /// Lets the first signal ask the run to end, with a message unless the run is quiet.
    func ask(_ message: String, _ ask: @escaping @Sendable () -> Void = {}) {
        state.withLock { [isQuiet] state in
            state.ask = {
                if !isQuiet { Console.complain("\(message); again to leave at once") }
                ask()
            }
        }
    }

    /// Whether the run is to end. After the first look, a first signal only asks.
    var isAsked: Bool {
        let (isAskable, isAsked) = state.withLock { ($0.ask != nil, $0.signal != nil) }
        if !isAskable { ask("ending what is begun") }
        return isAsked
    }

    private func handle(_ number: Int32) {
        let (isFirst, ask) = state.withLock { state in
            let isFirst = state.signal == nil
            state.signal = state.signal ?? number
            return (isFirst, isFirst ? state.ask : nil)
        }
        // Without threads of the system, a run could not end itself.
        if let ask, HelperThread.start({}) { return ask() }
        Console.statusLine.erase()
        // A quiet run has not reported the first.
        if isFirst || isQuiet { Console.complain("interrupted") }
        _exit(Self.status(of: number).rawValue)
    }
}
