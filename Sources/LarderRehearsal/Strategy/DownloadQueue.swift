import Foundation
import LarderIcons
import Synchronization

/// Downloads in the order in which they were asked for, a few at a time.
///
/// Not an `OperationQueue` of blocking operations: on Linux, the threads that they block are those
/// that the downloads need.
final class DownloadQueue: Sendable {
    typealias Completion = @Sendable (LoadedImage?) -> Void

    private struct State {
        var waiting: ArraySlice<(url: URL, then: Completion)> = []
        var tasks: [Int: Task<Void, Never>] = [:]
        var lastTask = 0
        var isEnded = false
    }

    private let fetcher: any IconFetcher
    private let maximumConcurrent: Int
    private let state = Mutex(State())

    init(_ fetcher: any IconFetcher, maximumConcurrent: Int) {
        self.fetcher = fetcher
        self.maximumConcurrent = maximumConcurrent
    }

    /// - Parameter then: called with the image, or nil if there is none to be had; not called once
    ///   all has ended.
    func add(_ url: URL, then: @escaping Completion) {
        state.withLock { state in
            state.waiting.append((url, then))
            advance(&state)
        }
    }

    /// Drops what waits, and cancels what is under way.
    func end() {
        let tasks = state.withLock { state in
            state.isEnded = true
            state.waiting = []
            return state.tasks.values
        }
        tasks.forEach { $0.cancel() }
    }

    private func advance(_ state: inout State) {
        while !state.isEnded, state.tasks.count < maximumConcurrent,
            let (url, then) = state.waiting.popFirst()
        {
            state.lastTask += 1
            let number = state.lastTask
            state.tasks[number] = Task.detached { [self] in
                let icon = try? await fetcher.fetch(IconRequest(url: url))
                let isEnded = self.state.withLock { state in
                    state.tasks[number] = nil
                    advance(&state)
                    return state.isEnded
                }
                if !isEnded { then(icon.map { LoadedImage(url: url, data: $0.data) }) }
            }
        }
    }
}
