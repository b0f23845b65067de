import Foundation
import LarderIcons

/// A fetcher that returns a different icon for each URL, without delay.
final class StubFetcher: IconFetcher {
    private let bytes: Int?

    /// - Parameter bytes: The size of each icon. If nil, every fetch fails.
    init(bytes: Int?) { self.bytes = bytes }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        try Task.checkCancellation()
        guard let bytes else { throw IconFailure(.fetch, url: request.url, "there is none") }
        return FetchedIcon(data: Self.data(request.url.absoluteString, bytes))
    }

    static func data(_ url: String, _ bytes: Int) -> Data {
        Data(Array(url.utf8) + Array(repeating: 0, count: max(0, bytes - url.utf8.count)))
    }
}

/// A wrapper of another fetcher, for tests of its deallocation.
final class WatchedFetcher: IconFetcher {
    private let fetcher: any IconFetcher

    init(_ fetcher: any IconFetcher) { self.fetcher = fetcher }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        try await fetcher.fetch(request)
    }
}
