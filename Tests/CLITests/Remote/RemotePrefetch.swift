import Foundation
import LarderHTTP
import LarderPrefetch
import Testing

extension Remote {
    /// Creates a remote in `storage`, without a server.
    init(in storage: any ObjectStore) throws {
        self.init(S3Settings(location: try S3Location("s3://tests")))
        self.storage = storage
    }
}

func prefetch(
    _ urls: [String], into cache: String, _ storage: any ObjectStore, _ use: Remote.Use,
    freshFor: Duration? = nil
) async throws -> Report {
    try await prefetch(
        entries: urls.map { ["icon": $0] }, into: cache, storage, use, freshFor: freshFor)
}

func prefetch(
    entries: [[String: String]], into cache: String, _ storage: any ObjectStore,
    _ use: Remote.Use, freshFor: Duration? = nil
) async throws -> Report {
    var configuration = PrefetchConfiguration(cache: cache)
    configuration.transfer.addressPolicy = .allowAll
    var remote = try Remote(in: storage)
    remote.use = use
    remote.freshFor = freshFor
    configuration.remote = remote
    let manifest = try JSONEncoder().encode(entries)
    var report: Report?
    let events = Prefetcher(configuration)
        .prefetch([.bytes(Array(manifest), name: "manifest")])
    for try await case .finished(let finished) in events { report = finished }
    return try #require(report)
}
