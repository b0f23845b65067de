import Foundation
import LarderTransfer
import Synchronization

#if canImport(Musl)
    import Musl
#endif

/// Writes a response's body into a file without a name.
final class ManifestReceiver: TransferReceiver {
    enum Outcome {
        /// The whole body: a descriptor at its beginning, now the caller's.
        case body(Int32, ResponseHead)
        case notModified(ResponseHead)
        case redirect(String, ResponseHead)
        case failed(FetchFailure)
    }

    private struct State {
        var head: ResponseHead?
        var verdict: Outcome?
        var outcome: Outcome?
    }

    private let isConditional: Bool
    private let file: UnnamedFile
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter isConditional: whether the request asks for it only if it has changed.
    init(name: String, isConditional: Bool) throws(ManifestError) {
        self.isConditional = isConditional
        file = try UnnamedFile(for: name)
    }

    /// Waits for the transfer's end. To be called once.
    func wait() -> Outcome {
        ended.wait()
        let outcome =
            state.withLock { $0.outcome } ?? .failed(FetchFailure(.cancelled, "cancelled"))
        if case .body = outcome {
            lseek(file.descriptor, 0, SEEK_SET)
        } else {
            close(file.descriptor)
        }
        return outcome
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let verdict: Outcome?
        switch head.status {
        case 200, 203: verdict = nil
        case 304 where isConditional: verdict = .notModified(head)
        case let status where Redirect.statuses.contains(status):
            verdict =
                head.headers[first: "Location"].map { .redirect($0, head) }
                ?? .failed(FetchFailure(.badRedirect, "redirected without a Location"))
        default:
            verdict = .failed(
                FetchFailure(status: head.status, retryAfter: RetryAfter.delay(of: head)))
        }
        state.withLock { ($0.head, $0.verdict) = (head, verdict) }
        return verdict == nil || head.status == 304
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
        state.withLock { state in
            state.outcome =
                switch (state.verdict, state.head, result) {
                case (let verdict?, _, _): verdict
                case (nil, let head?, .success): .body(file.descriptor, head)
                case (nil, nil, .success): nil
                case (nil, _, .failure(let error)): .failed(FetchFailure(error))
                }
        }
        ended.signal()
    }
}
