import Foundation
import LarderTransfer
import Synchronization

/// Writes a response's body into a file without a name.
final class ManifestReceiver: TransferReceiver {
    enum Outcome {
        /// The whole body: a descriptor at its beginning, now the caller's.
        case body(Int32, ResponseHead)
        case notModified(ResponseHead)
        case redirect(String, freshUntil: Date)
        case failed(FetchFailure)
    }

    private struct State {
        var head: ResponseHead?
        var verdict: ResponseVerdict?
        var result: Result<TransferMetrics, TransferError>?
    }

    private let decide: @Sendable (ResponseHead) -> ResponseVerdict
    private let file: UnnamedFile
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter decide: says what a response's head leads to.
    init(
        name: String, decide: @escaping @Sendable (ResponseHead) -> ResponseVerdict
    ) throws(ManifestError) {
        self.decide = decide
        file = try UnnamedFile(for: name)
    }

    /// Waits for the transfer's end. Must be called once.
    ///
    /// - Parameter isCancelled: asked a few times a second: true ends the transfer.
    func wait(for id: TransferID, on loop: TransferLoop, unless isCancelled: () -> Bool) -> Outcome
    {
        while ended.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            if isCancelled() { loop.cancel(id) }
        }
        let outcome: Outcome = state.withLock { settled($0) }
        if case .body = outcome {
            lseek(file.descriptor, 0, SEEK_SET)
        } else {
            close(file.descriptor)
        }
        return outcome
    }

    private func settled(_ state: State) -> Outcome {
        switch (state.verdict, state.head, state.result) {
        case (.redirect(let location, let freshUntil), _, _):
            .redirect(location, freshUntil: freshUntil)
        case (.failed(let failure), _, _): .failed(failure)
        case (_, _, .failure(let error)?): .failed(FetchFailure(error))
        case (.body, let head?, .success?): .body(file.descriptor, head)
        case (.notModified, let head?, .success?): .notModified(head)
        default: .failed(FetchFailure(.cancelled, "cancelled"))
        }
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let verdict = decide(head)
        state.withLock { ($0.head, $0.verdict) = (head, verdict) }
        switch verdict {
        case .body, .notModified: return true
        case .redirect, .failed: return false
        }
    }

    func transfer(
        _ id: TransferID, didReceive bytes: UnsafeRawBufferPointer
    ) -> ReceiveVerdict {
        let number = file.append(bytes)
        guard number != 0 else { return .proceed }
        let reason = String(cString: strerror(number))
        state.withLock {
            $0.verdict = .failed(FetchFailure(.storage, "cannot store it: \(reason)"))
        }
        return .stop
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        state.withLock { $0.result = result }
        ended.signal()
    }
}
