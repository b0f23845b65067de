import LarderManifest
import LarderPrefetch
import LarderTestSupport

/// Prefetches a JSON manifest over the loopback interface. Returns the report and all results.
func prefetch(
    _ manifest: String, into cache: String,
    configure: (inout PrefetchConfiguration) -> Void = { _ in }
) async throws -> (report: Report, results: [EntryResult]) {
    var configuration = PrefetchConfiguration(cache: cache)
    configuration.transfer.addressPolicy = .allowAll
    configure(&configuration)
    return try await collect(Prefetcher(configuration), manifest)
}

/// Runs a prefetcher. Returns the report and all results.
func collect(
    _ prefetcher: Prefetcher, _ manifest: String
) async throws -> (report: Report, results: [EntryResult]) {
    try await collect(prefetcher, .bytes(Array(manifest.utf8), name: "test"))
}

func collect(
    _ prefetcher: Prefetcher, _ manifest: ManifestSource
) async throws -> (report: Report, results: [EntryResult]) {
    var results: [EntryResult] = []
    for try await event in prefetcher.prefetch([manifest]) {
        switch event {
        case .entry(let result): results.append(result)
        case .finished(let report): return (report, results)
        case .recovered, .planning, .planned, .progress: continue
        }
    }
    throw EndedWithoutReport()
}

struct EndedWithoutReport: Error {}

/// Returns a JSON manifest with these icon URLs.
func manifest(_ urls: some Sequence<String>) -> String {
    "[" + urls.map { #"{"icon": "\#($0)"}"# }.joined(separator: ",") + "]"
}
