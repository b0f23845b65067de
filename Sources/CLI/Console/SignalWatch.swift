@preconcurrency import Dispatch
import Foundation

/// Hears one signal, which from then on does nothing else.
final class SignalWatch: Sendable {
    private let source: any DispatchSourceSignal

    /// Watches from now on.
    ///
    /// - Parameters:
    ///   - handler: called on `queue` whenever the signal comes.
    init(
        _ number: Int32, on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void
    ) {
        // The source sees the signal only if its default action is gone.
        signal(number, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler(handler: handler)
        let registration = DispatchGroup()
        registration.enter()
        source.setRegistrationHandler { registration.leave() }
        source.resume()
        // Another thread opens the descriptors for it, and traps (SIGILL) if others have taken
        // the last.
        registration.wait()
    }

    deinit { source.cancel() }
}
