import LarderIcons

/// Another fetcher's icons, from an object whose end can be seen.
final class WatchedFetcher: IconFetcher {
    private let fetcher: any IconFetcher

    init(_ fetcher: any IconFetcher) { self.fetcher = fetcher }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        try await fetcher.fetch(request)
    }
}
