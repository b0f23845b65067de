import Foundation
import LarderIcons

/// Has an icon of its own for each URL, at once.
final class StubFetcher: IconFetcher {
    private let bytes: Int?

    /// - Parameter bytes: how long each is; nil if there is none to be had.
    init(bytes: Int?) { self.bytes = bytes }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        try Task.checkCancellation()
        guard let bytes else { throw IconFailure(.fetch, url: request.url, "there is none") }
        return FetchedIcon(data: Self.data(request.url.absoluteString, bytes))
    }

    /// The icon of a URL.
    static func data(_ url: String, _ bytes: Int) -> Data {
        Data(Array(url.utf8) + Array(repeating: 0, count: max(0, bytes - url.utf8.count)))
    }
}

/// Another fetcher's icons, from an object whose end can be seen.
final class WatchedFetcher: IconFetcher {
    private let fetcher: any IconFetcher

    init(_ fetcher: any IconFetcher) { self.fetcher = fetcher }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        try await fetcher.fetch(request)
    }
}
