import Foundation
import LarderIcons
import LarderTestSupport

/// Tests of a loader: one URL's icon, and a loader with whatever fetcher.
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

/// What a load came to: how often, and the last of it.
final class Heard: @unchecked Sendable {
    // Unchecked because there is a variable; every access holds `lock`.
    private let lock = NSLock()
    private var states: [IconState] = []

    var count: Int { lock.withLock { states.count } }
    var last: IconState? { lock.withLock { states.last } }
    func hear(_ state: IconState) { lock.withLock { states.append(state) } }
}
