@preconcurrency import Dispatch
import Foundation
import Synchronization

/// The first interrupt or termination asks a run to end; the second leaves at once.
final class Interrupts: Sendable {
    private let first = Mutex<Int32?>(nil)
    private let sources = Mutex<[any DispatchSourceSignal]>([])

    /// The signal that came first; nil if none did.
    var signal: Int32? { first.withLock { $0 } }

    /// Calls `ask` on the first signal, from a queue of its own.
    func watch(_ ask: @escaping @Sendable (_ signal: Int32) -> Void) {
        let queue = DispatchQueue(label: "larder.interrupts")
        for number in [SIGINT, SIGTERM] {
            // The source sees the signal only where its default action is gone.
            Foundation.signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [self] in
                let isFirst = first.withLock { first in
                    defer { first = first ?? number }
                    return first == nil
                }
                guard isFirst else { _exit(128 + number) }
                ask(number)
            }
            source.resume()
            sources.withLock { $0.append(source) }
        }
    }
}
