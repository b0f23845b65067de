import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The URLs that were requested and are not cached, for the next prefetch.
final class MissingList: Sendable {
    private typealias Item = (number: Int, isRequested: Bool)

    private struct State {
        var items: [[UInt8]: Item] = [:]
        var count = 0
        var bytes = 0
        /// The previous list, oldest first. New URLs replace URLs that were not requested again.
        var old: ArraySlice<[UInt8]> = []
        var isChanged = false
        var isFull = false
        var isFullReported = false
        /// The cache's generation when all URLs were last looked up, or nil if a look-up failed.
        var generation: Int?

        mutating func makeRoom(for count: Int) -> Bool {
            while items.count >= MissingListOutput.maximumURLs
                || bytes + count > MissingListOutput.maximumBytes
            {
                guard let oldest = old.popFirst() else { return false }
                if items[oldest]?.isRequested == false { remove(oldest) }
            }
            return true
        }

        mutating func remove(_ key: [UInt8]) {
            guard items.removeValue(forKey: key) != nil else { return }
            bytes -= key.count
            isChanged = true
        }
    }

    private let output: MissingListOutput
    private let state = Mutex(State())
    /// Held during ``save(_:_:)``, because its calls can overlap when the server stops.
    private let saving = Mutex<Void>(())

    init(_ output: MissingListOutput) throws {
        self.output = output
        let last = try output.load()
        for url in last { note(url, isRequested: false) }
        state.withLock { state in
            state.old = last.map { Array($0.utf8) }[...]
            // URLs with secrets, which earlier versions stored, have been dropped.
            state.isChanged = state.items.count < last.count
        }
    }

    /// Adds a URL that can be fetched and has no secret. In a full list, it replaces an old one.
    func note(_ url: String, isRequested: Bool = true) {
        guard MissingListOutput.isKept(url), !TargetMask.hasSecret(url) else { return }
        state.withLock { state in
            let bytes = Array(url.utf8)
            guard state.items[bytes] == nil else {
                state.items[bytes]?.isRequested = true
                return
            }
            guard state.makeRoom(for: bytes.count) else {
                state.isFull = true
                return
            }
            state.items[bytes] = (state.count, isRequested)
            state.count += 1
            state.bytes += bytes.count
            state.isChanged = true
        }
    }

    func save(_ cache: LiveCache, _ log: ServerLog) {
        let isFull = state.withLock { state in
            defer { state.isFullReported = state.isFull }
            return state.isFull && !state.isFullReported
        }
        if isFull { log.problem("the list of missing icons is full; further URLs are not added") }
        saving.withLock { _ in
            // Read before the look-ups, so that the next call notices changes during them.
            let generation = cache.refresh()
            if state.withLock({ $0.generation != generation }) { removeCached(cache, generation) }
            let items: [[UInt8]: Item]? = state.withLock { state in
                defer { state.isChanged = false }
                return state.isChanged ? state.items : nil
            }
            guard let items else { return }
            let urls = items.sorted { $0.value.number < $1.value.number }
                .map { String(decoding: $0.key, as: UTF8.self) }
            do {
                try output.store(MissingListOutput.text(of: urls))
            } catch {
                state.withLock { $0.isChanged = true }
                log.problem("the list of missing icons: \(error)")
            }
        }
    }

    private func removeCached(_ cache: LiveCache, _ generation: Int) {
        var known: Int? = generation
        let cached = state.withLock { Array($0.items.keys) }.filter { key in
            do {
                return try cache.resource(String(decoding: key, as: UTF8.self)) != nil
            } catch {
                known = nil
                return false
            }
        }
        state.withLock { state in
            state.generation = known
            for key in cached { state.remove(key) }
            if !cached.isEmpty { state.isFull = false }
        }
    }
}

package struct MissingListOutput: Sendable {
    static let maximumURLs = 10_000
    static let maximumBytes = 2 << 20
    /// The maximum size of the text in bytes. JSON can need six bytes for one byte of a URL.
    package static let maximumSize = maximumBytes * 6 + maximumURLs * 16

    let load: @Sendable () throws -> [String]
    let store: @Sendable (String) throws -> Void

    /// - Parameter store: Replaces the text of the list. Calls are seconds apart and never overlap.
    package init(
        load: @escaping @Sendable () throws -> [String],
        store: @escaping @Sendable (String) throws -> Void
    ) { (self.load, self.store) = (load, store) }

    package static func text(of urls: [String]) -> String {
        let lines = urls.map { url in
            var entry = JSONObject()
            entry.set("icon", exactly: url)
            return entry.text
        }
        return lines.isEmpty ? "[]\n" : "[\n\(lines.joined(separator: ",\n"))\n]\n"
    }

    /// Returns the URLs in a list that a server has written. Returns nil for other text, because it
    /// may be a user's manifest, which must not be replaced. An empty text is an empty list.
    package static func urls(of text: Data) -> [String]? {
        if text.isEmpty || text.elementsEqual("[]".utf8) { return [] }
        guard text.count <= maximumSize,
            let entries = try? JSONDecoder().decode([Line].self, from: text)
        else { return nil }
        let urls = entries.map(\.icon)
        guard urls.count <= maximumURLs, urls.allSatisfy(isKept),
            urls.reduce(0, { $0 + $1.utf8.count }) <= maximumBytes,
            Set(urls.map { Array($0.utf8) }).count == urls.count,
            Self.text(of: urls).utf8.elementsEqual(text)
        else { return nil }
        return urls
    }

    private struct Line: Decodable { let icon: String }

    static func isKept(_ url: String) -> Bool {
        guard url.utf8.count <= ManifestLimits.maximumURLSize, let parsed = try? HTTPURL(url)
        else { return false }
        return parsed.credentials == nil
    }
}
