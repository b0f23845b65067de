import LarderCache
import LarderKit
import LarderTransfer
import Synchronization

/// The URLs that were asked for and are not cached, to be prefetched next time.
final class MissingList: Sendable {
    /// More are not noted.
    static let mostURLs = 10_000
    /// Nor are more bytes of them.
    private static let mostBytes = 2 << 20

    private struct State {
        var urls: [String] = []
        var known: Set<[UInt8]> = []
        var bytes = 0
        var isChanged = false
    }

    private let output: MissingListOutput
    private let state = Mutex(State())

    /// - Throws: what reading the last list does.
    init(_ output: MissingListOutput) throws {
        self.output = output
        for url in try output.load() { note(url) }
        state.withLock { $0.isChanged = false }
    }

    /// Notes a URL as it was asked for, unless it is none that can be fetched, or has a secret of
    /// the client's in it.
    func note(_ url: String) {
        guard url.utf8.count <= ManifestLimits.maximumURLSize,
            let parsed = try? HTTPURL(url), parsed.credentials == nil
        else { return }
        state.withLock { state in
            guard state.urls.count < Self.mostURLs,
                state.bytes + url.utf8.count <= Self.mostBytes,
                state.known.insert(Array(url.utf8)).inserted
            else { return }
            state.urls.append(url)
            state.bytes += url.utf8.count
            state.isChanged = true
        }
    }

    /// Writes the list anew if it has changed; those that are cached by now are left out. Called
    /// every few seconds, on a thread of the pool, and at the end.
    func save(_ reader: CacheReader) throws {
        let urls = state.withLock { $0.urls }
        let cached = Set(
            urls.indices.filter { (try? reader.resource(urls[$0])) ?? nil != nil })
        let (isChanged, rest) = state.withLock { state in
            for index in cached {
                state.known.remove(Array(urls[index].utf8))
                state.bytes -= urls[index].utf8.count
            }
            // What was noted meanwhile is behind those.
            state.urls =
                state.urls.indices.filter { !cached.contains($0) }.map { state.urls[$0] }
            defer { state.isChanged = false }
            return (state.isChanged || !cached.isEmpty, state.urls)
        }
        guard isChanged else { return }
        let lines = rest.map { url in
            var entry = JSONObject()
            entry.set("icon", exactly: url)
            return entry.text
        }
        do {
            try output.store(
                lines.isEmpty ? "[]\n" : "[\n" + lines.joined(separator: ",\n") + "\n]\n")
        } catch {
            state.withLock { $0.isChanged = true }
            throw error
        }
    }
}
