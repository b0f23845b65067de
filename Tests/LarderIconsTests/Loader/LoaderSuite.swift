import Foundation
import LarderIcons
import LarderTestSupport

/// The common helpers of the suites of the icon loader.
protocol LoaderSuite {}

extension LoaderSuite {
    var bytes: [UInt8] { IconPainter.png(seed: 1, size: 8) }

    func url(_ name: String) -> URL { URL(string: "https://a.example/\(name)")! }

    func loader(
        _ fetcher: ScriptedFetcher?, memory: MemoryCache = MemoryCache(pressure: nil),
        at directory: URL? = nil, bundle: URL? = nil,
        _ change: (inout IconLoader.Options) -> Void = { _ in }
    ) -> IconLoader {
        var options = IconLoader.Options()
        change(&options)
        let cache =
            directory.map { IconCache(directory: $0, bundle: bundle, memory: memory) }
            ?? IconCache(memory: memory)
        return IconLoader(cache: cache, fetcher: fetcher, options: options)
    }

    func icon(_ bytes: [UInt8]? = nil) -> FetchedIcon {
        FetchedIcon(data: Data(bytes ?? self.bytes), mediaType: "image/png")
    }
}

/// The states that a handler has received.
final class ReceivedStates: @unchecked Sendable {
    // Unchecked because of its variable; every access holds `lock`.
    private let lock = NSLock()
    private var states: [IconState] = []

    var count: Int { lock.withLock { states.count } }
    var last: IconState? { lock.withLock { states.last } }
    func append(_ state: IconState) { lock.withLock { states.append(state) } }
}
