import Foundation
import LarderCache
import LarderIcons

/// A strategy that uses an ``IconLoader``. Visible rows have the highest priority, upcoming rows
/// are prefetched, and rows that leave are cancelled.
final class SandboxStrategy: LoadingStrategy {
    private let screen: TableScreen
    private let inbox: Inbox
    private let memory: MemoryCache
    private let cache: IconCache
    private let loader: IconLoader
    private let temporary: URL?
    /// The loads in progress, by appearance.
    private var tasks: [Int: IconTask] = [:]
    private var ahead = 0..<0

    init(
        _ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox,
        _ options: RehearsalOptions, _ pressure: MemoryPressure
    ) {
        self.screen = screen
        self.inbox = inbox
        memory = MemoryCache(costLimit: options.cacheCostLimit, pressure: pressure)
        let directory =
            options.directory
            ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                "larder-rehearsal-\(UUID().uuidString)")
        temporary = options.directory == nil ? directory : nil
        cache = IconCache(directory: directory, memory: memory)
        var loading = IconLoader.Options()
        loading.concurrentFetches = options.maximumConcurrent
        loader = IconLoader(cache: cache, fetcher: fetcher, options: loading)
    }

    var cachedBytes: Int { memory.dataBytes }

    func caches(_ image: LoadedImage) -> Bool { memory.contains(image.url.absoluteString) }

    func load(_ request: RowRequest) {
        if let entry = loader.state(for: request.url).entry {
            let image = LoadedImage(url: request.url, data: entry.data)
            return screen.put(image, from: .memory, in: request.cell)
        }
        tasks[request.appearance] = loader.load(request.url, priority: .veryHigh) { [inbox] in
            inbox.post(Arrival(request, $0))
        }
    }

    func leave(_ request: RowRequest) { tasks.removeValue(forKey: request.appearance)?.cancel() }

    func prefetch(_ rows: Range<Int>) {
        let before = ahead
        ahead = rows
        // Compared by URL, because rows may share a URL.
        let wanted = Set(rows.compactMap(url))
        loader.prefetch(rows.filter { !before.contains($0) }.compactMap(url))
        loader.stopPrefetching(before.compactMap(url).filter { !wanted.contains($0) })
    }

    func receive(_ arrival: Arrival) {
        tasks[arrival.request.appearance] = nil
        screen.finish(arrival.request, arrival.image, from: arrival.origin)
    }

    func end() -> Epilogue {
        tasks.values.forEach { $0.cancel() }
        prefetch(0..<0)
        return { [cache, loader, temporary] in
            // Icons that are being stored would create the directory again.
            while loader.workCount > 0 { try? await Task.sleep(for: .milliseconds(1)) }
            await cache.flush()
            if let temporary { try? FileManager.default.removeItem(at: temporary) }
            return cache.storeFailure.map {
                StrategyReport.StoreFailure(code: $0.code.rawValue, message: "\($0)")
            }
        }
    }

    private func url(_ row: Int) -> URL? { screen.rows[row].flatMap { URL(string: $0) } }
}

extension Arrival {
    fileprivate init(_ request: RowRequest, _ state: IconState) {
        switch state {
        case .image(let entry, let source):
            let origin: LoadedImage.Origin =
                switch source {
                case .memory: .memory
                case .disk, .bundle: .disk
                case .network: .network
                }
            self.init(request, LoadedImage(url: request.url, data: entry.data), from: origin)
        case .failed, .placeholder: self.init(request, nil, from: .network)
        }
    }
}
