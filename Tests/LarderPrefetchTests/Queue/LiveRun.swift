import Foundation
import LarderManifest
import LarderPrefetch
import LarderTestSupport
import Synchronization

/// A run whose origin holds its answers until a gate opens, so that a test can change its mind
/// meanwhile.
final class LiveRun: Sendable {
    let origin: Origin
    let gate: Gate
    let prefetcher: Prefetcher
    private let manifest: String
    private let directory: URL
    private let seen = Mutex(Seen())

    private struct Seen {
        /// Of each path, every result.
        var results: [String: [EntryResult]] = [:]
        var markers = 0
        var waiting: (path: String, continuation: CheckedContinuation<Void, Never>)?
        var isOver = false
    }

    /// Fetched for nobody, and cancelled to learn that what was wanted before was taken.
    private static let markers = (0..<64).map { "/marker\($0)" }

    /// - Parameters:
    ///   - entries: of the manifest, beside `paths`: in JSON, for an origin.
    ///   - isHeld: which paths the gate holds.
    init(
        of paths: [String], entries: (Origin) -> [String] = { _ in [] },
        isHeld: @escaping @Sendable (String) -> Bool = { _ in true },
        configure: (inout PrefetchConfiguration) -> Void = { _ in }
    ) throws {
        let (origin, gate) = (try Origin(), try Gate())
        origin.onAny { request in
            let reply = Reply.ok(IconPainter.png(seed: request.target.hashValue, size: 8))
            return isHeld(request.path) ? reply.heldBy(gate) : reply
        }
        let plain = paths.map { #"{"icon": "\#(origin.url($0))"}"# }
        let markers = Self.markers.map {
            #"{"icon": "\#(origin.url($0))", "priority": -1000}"#
        }
        manifest = "[" + (plain + entries(origin) + markers).joined(separator: ",") + "]"
        (self.origin, self.gate) = (origin, gate)
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("live-\(UUID().uuidString)")
        var configuration = PrefetchConfiguration(cache: directory.path)
        configuration.transfer.addressPolicy = .allowAll
        configuration.maximumConcurrent = 1
        configure(&configuration)
        prefetcher = Prefetcher(configuration)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Runs to the end. Icons that only a test's own needs made are cancelled or left out.
    func finished() async throws -> (report: Report, results: [String: [EntryResult]]) {
        let source = ManifestSource.bytes(Array(manifest.utf8), name: "test")
        for try await event in prefetcher.prefetch([source]) {
            switch event {
            case .entry(let result): note(result)
            case .finished(let report):
                let results = seen.withLock { $0.results }
                return (report, results.filter { !$0.key.hasPrefix("/marker") })
            default: continue
            }
        }
        throw EndedWithoutReport()
    }

    private func note(_ result: EntryResult) {
        let path = result.url.flatMap { URL(string: $0) }?.path ?? ""
        let waiting = seen.withLock { seen -> CheckedContinuation<Void, Never>? in
            seen.results[path, default: []].append(result)
            guard seen.waiting?.path == path else { return nil }
            defer { seen.waiting = nil }
            return seen.waiting?.continuation
        }
        waiting?.resume()
    }

    /// What became of a path so far.
    func results(of path: String) -> [EntryResult] {
        seen.withLock { $0.results[path] ?? [] }
    }

    /// Returns once a path is reported.
    func isReported(_ path: String) async {
        await withCheckedContinuation { continuation in
            let isThere = seen.withLock { seen in
                if seen.results[path] != nil { return true }
                seen.waiting = (path, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Returns once the run has taken what was wanted before: it takes one after the other.
    func changesAreTaken() async {
        let marker = seen.withLock { seen in
            defer { seen.markers += 1 }
            return Self.markers[seen.markers]
        }
        prefetcher.cancel(origin.url(marker))
        await isReported(marker)
    }

    /// Wants nothing of the run's own but what the test does.
    func cancelMarkers() {
        for marker in Self.markers { prefetcher.cancel(origin.url(marker)) }
    }

    var cache: String { directory.path }

    /// The paths in the order in which they were asked for.
    var order: [String] {
        origin.requests.map(\.path).filter { !$0.hasPrefix("/marker") }
    }
}
