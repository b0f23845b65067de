import Foundation
import LarderIcons
import Synchronization

/// A way to load the images of rows, called on the main thread.
protocol LoadingStrategy: AnyObject {
    /// Waits until pending icons are stored. Returns the error if an icon could not be stored.
    typealias Epilogue = @Sendable () async -> StrategyReport.StoreFailure?

    /// The size of images in the memory cache, in bytes.
    var cachedBytes: Int { get }

    func caches(_ image: LoadedImage) -> Bool

    func load(_ request: RowRequest)

    func leave(_ request: RowRequest)

    /// Prepares for rows that may become visible.
    func prefetch(_ rows: Range<Int>)

    func receive(_ arrival: Arrival)

    /// Cancels all loads. Returns the remaining work, for another thread.
    func end() -> Epilogue
}

extension LoadingStrategy {
    func leave(_ request: RowRequest) {}
    func prefetch(_ rows: Range<Int>) {}
}

/// A strategy that downloads an image on the main thread when its row appears.
final class SynchronousStrategy: LoadingStrategy {
    private final class Download: Sendable {
        let hasEnded = DispatchSemaphore(value: 0)
        let image = Mutex<LoadedImage?>(nil)
    }

    private let screen: TableScreen
    private let fetcher: any IconFetcher
    private let inbox: Inbox

    init(_ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox) {
        (self.screen, self.fetcher, self.inbox) = (screen, fetcher, inbox)
    }

    var cachedBytes: Int { 0 }
    func caches(_ image: LoadedImage) -> Bool { false }

    func load(_ request: RowRequest) {
        guard !inbox.hasEnded else { return }
        let image = image(of: request.url)
        if image != nil || !inbox.hasEnded { screen.finish(request, image, from: .network) }
    }

    /// Downloads an image and blocks, like `Data(contentsOf:)`. Returns nil if that fails or the
    /// rehearsal ends.
    private func image(of url: URL) -> LoadedImage? {
        let download = Download()
        let task = Task.detached { [fetcher] in
            let icon = try? await fetcher.fetch(IconRequest(url: url))
            download.image.withLock { $0 = icon.map { LoadedImage(url: url, data: $0.data) } }
            download.hasEnded.signal()
        }
        while download.hasEnded.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            if inbox.hasEnded { task.cancel() }
        }
        return download.image.withLock { $0 }
    }

    func receive(_ arrival: Arrival) {}
    func end() -> Epilogue { { nil } }
}

/// A strategy that downloads images with a queue and never cancels. Optionally, it keeps images in
/// memory and shares downloads in progress.
final class QueueStrategy: LoadingStrategy {
    private let screen: TableScreen
    private let inbox: Inbox
    private let queue: DownloadQueue
    private let images: ImageDictionary?
    private let sharesDownloads: Bool
    /// The requests that wait for a shared download.
    private var waiting: [URL: [RowRequest]] = [:]

    init(
        _ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox,
        maximumConcurrent: Int, images: ImageDictionary? = nil, sharesDownloads: Bool = false
    ) {
        (self.screen, self.inbox, self.images) = (screen, inbox, images)
        self.sharesDownloads = sharesDownloads
        queue = DownloadQueue(fetcher, maximumConcurrent: maximumConcurrent)
    }

    var cachedBytes: Int { images?.bytes ?? 0 }
    func caches(_ image: LoadedImage) -> Bool { images?[image.url] != nil }

    func load(_ request: RowRequest) {
        if let image = images?[request.url] {
            return screen.put(image, from: .memory, in: request.cell)
        }
        if sharesDownloads {
            waiting[request.url, default: []].append(request)
            if waiting[request.url]?.count ?? 0 > 1 { return }
        }
        queue.add(request.url) { [inbox] in inbox.post(Arrival(request, $0, from: .network)) }
    }

    func receive(_ arrival: Arrival) {
        if let image = arrival.image { images?.keep(image) }
        let requests =
            sharesDownloads
            ? waiting.removeValue(forKey: arrival.request.url) ?? [] : [arrival.request]
        for request in requests { screen.finish(request, arrival.image, from: .network) }
    }

    func end() -> Epilogue {
        queue.end()
        return { nil }
    }
}

/// A first-in, first-out queue with a limit on concurrent downloads.
///
/// On Linux, blocking operations of an `OperationQueue` would block the threads that downloads
/// need.
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

    /// Downloads an image. Calls `then` with the image, or with nil after a failure. Does not call
    /// `then` after ``end()``.
    func add(_ url: URL, then: @escaping Completion) {
        state.withLock { state in
            state.waiting.append((url, then))
            advance(&state)
        }
    }

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

/// A memory cache without a limit. A memory warning empties it.
final class ImageDictionary: Sendable {
    private struct State {
        var images: [URL: LoadedImage] = [:]
        var bytes = 0
    }

    private let state = Mutex(State())
    private let observation = Mutex<MemoryPressure.Observation?>(nil)

    init(_ pressure: MemoryPressure) {
        let observed = pressure.observe { [weak self] _ in self?.state.withLock { $0 = State() } }
        observation.withLock { $0 = observed }
    }

    var bytes: Int { state.withLock { $0.bytes } }

    subscript(url: URL) -> LoadedImage? { state.withLock { $0.images[url] } }

    func keep(_ image: LoadedImage) {
        state.withLock { state in
            let replaced = state.images.updateValue(image, forKey: image.url)
            state.bytes += image.data.count - (replaced?.data.count ?? 0)
        }
    }
}
