import Foundation
import LarderIcons
import Synchronization

/// How an app gets the images of its rows. All is called on the main thread.
protocol LoadingStrategy: AnyObject {
    /// Waits until all that is to be kept is kept, and tells why it is not.
    typealias Epilogue = @Sendable () async -> StrategyReport.StoreFailure?

    /// Bytes of the images that it keeps in memory.
    var cachedBytes: Int { get }

    /// Whether it keeps the image of that URL in memory.
    func caches(_ image: LoadedImage) -> Bool

    /// A row has become visible.
    func load(_ request: RowRequest)

    /// A row is not visible any more.
    func leave(_ request: RowRequest)

    /// These rows may become visible next.
    func prefetch(_ rows: Range<Int>)

    /// Something that it has begun has come to its end.
    func receive(_ arrival: Arrival)

    /// The rehearsal is over: nothing that it has begun goes on.
    ///
    /// - Returns: what is left to do, elsewhere.
    func end() -> Epilogue
}

extension LoadingStrategy {
    func leave(_ request: RowRequest) {}
    func prefetch(_ rows: Range<Int>) {}
}

/// Downloads a row's image when it appears, and the main thread waits for it.
final class SynchronousStrategy: LoadingStrategy {
    private let screen: TableScreen
    private let inbox: Inbox
    private let fetch: BlockingFetch

    init(_ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox) {
        self.screen = screen
        self.inbox = inbox
        fetch = BlockingFetch(fetcher: fetcher, inbox: inbox)
    }

    var cachedBytes: Int { 0 }

    func caches(_ image: LoadedImage) -> Bool { false }

    func load(_ request: RowRequest) {
        guard !inbox.hasEnded else { return }
        if let image = fetch.image(of: request.url) {
            screen.put(image, from: .network, in: request.cell)
        } else if !inbox.hasEnded {
            screen.fail(request)
        }
    }

    func receive(_ arrival: Arrival) {}

    func end() -> Epilogue { { nil } }
}

/// One download for a thread that waits for it, as `Data(contentsOf:)` does.
struct BlockingFetch {
    private final class Answer: Sendable {
        let isThere = DispatchSemaphore(value: 0)
        let image = Mutex<LoadedImage?>(nil)
    }

    let fetcher: any IconFetcher
    let inbox: Inbox

    /// The image; nil if there is none to be had, or all has ended.
    func image(of url: URL) -> LoadedImage? {
        let answer = Answer()
        let task = Task.detached { [fetcher] in
            let icon = try? await fetcher.fetch(IconRequest(url: url))
            answer.image.withLock { $0 = icon.map { LoadedImage(url: url, data: $0.data) } }
            answer.isThere.signal()
        }
        while answer.isThere.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            if inbox.hasEnded { task.cancel() }
        }
        return answer.image.withLock { $0 }
    }
}

/// Downloads a row's image by a queue, and never cancels one. It may keep the images, and share the
/// downloads under way.
final class QueueStrategy: LoadingStrategy {
    private let screen: TableScreen
    private let inbox: Inbox
    private let queue: DownloadQueue
    private let images: ImageDictionary?
    private let sharesDownloads: Bool
    /// If downloads are shared: who waits for each.
    private var waiting: [URL: [RowRequest]] = [:]

    /// - Parameters:
    ///   - images: keeps them. Nil: nothing does.
    ///   - sharesDownloads: whether a URL that is being downloaded is waited for.
    init(
        _ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox,
        maximumConcurrent: Int, images: ImageDictionary? = nil, sharesDownloads: Bool = false
    ) {
        self.screen = screen
        self.inbox = inbox
        self.images = images
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
        queue.add(request.url) { [inbox] image in
            inbox.post(Arrival(request, image, from: .network))
        }
    }

    func receive(_ arrival: Arrival) {
        if let image = arrival.image { images?.keep(image) }
        let requests =
            sharesDownloads
            ? waiting.removeValue(forKey: arrival.request.url) ?? [] : [arrival.request]
        for request in requests where screen.isShowing(request) {
            if let image = arrival.image {
                screen.put(image, from: .network, in: request.cell)
            } else {
                screen.fail(request)
            }
        }
    }

    func end() -> Epilogue {
        queue.end()
        return { nil }
    }
}

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

/// All images that were ever downloaded, until memory is short.
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
