import LarderCache
import LarderKit
import LarderTransfer
import Synchronization

/// The URLs that were asked for and are not cached, to be prefetched next time.
final class MissingList: Sendable {
    private struct State {
        var urls: [String] = []
        var known: Set<[UInt8]> = []
        var bytes = 0
        var isChanged = false
        /// Whether one was not noted for want of room, and whether that was said.
        var isFull = false
        var isFullSaid = false
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
            let bytes = Array(url.utf8)
            guard !state.known.contains(bytes) else { return }
            guard state.urls.count < MissingListOutput.maximumURLs,
                state.bytes + bytes.count <= MissingListOutput.maximumBytes
            else {
                state.isFull = true
                return
            }
            state.known.insert(bytes)
            state.urls.append(url)
            state.bytes += bytes.count
            state.isChanged = true
        }
    }

    /// Whether a URL found no room: true once, until there is room again.
    func takeIsFull() -> Bool {
        state.withLock { state in
            defer { state.isFullSaid = state.isFull }
            return state.isFull && !state.isFullSaid
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
            if !cached.isEmpty { state.isFull = false }
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
