import Foundation
import LarderCache
import LarderPresentation
import Synchronization

/// The metrics of the cache, counted at most every few seconds: each count looks at all objects.
final class CachedStatus: Sendable {
    private struct State {
        var text = ""
        var validUntil = ContinuousClock.now
        var isCounting = false
    }

    private let reader: CacheReader
    private let state = Mutex(State())

    init(_ reader: CacheReader) { self.reader = reader }

    /// In Prometheus' text format. Whoever asks while another counts gets the last count.
    func prometheus() throws -> String {
        let last: String? = state.withLock { state in
            if state.isCounting || ContinuousClock.now < state.validUntil { return state.text }
            state.isCounting = true
            return nil
        }
        if let last { return last }
        let start = ContinuousClock.now
        let text = Result { try reader.status().prometheus }
        let end = ContinuousClock.now
        state.withLock { state in
            state.isCounting = false
            // A twentieth of the time at most is spent on it.
            state.validUntil = end + max(.seconds(5), (end - start) * 20)
            if let text = try? text.get() { state.text = text }
        }
        return try text.get()
    }
}
