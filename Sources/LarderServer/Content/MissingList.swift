import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The URLs that were asked for and are not cached, for the next prefetch.
final class MissingList: Sendable {
    private struct Item {
        let url: String
        let number: Int
        /// Whether a client has asked for it since the server was started.
        var isAsked: Bool
    }

    private struct State {
        var items: [[UInt8]: Item] = [:]
        var count = 0
        var bytes = 0
        /// The URLs of the last list that may be dropped, the oldest first.
        var old: ArraySlice<[UInt8]> = []
        var isChanged = false
        /// Whether a URL found no room, and whether the user was told.
        var isFull = false
        var isFullTold = false
        /// The cache's generation when the URLs were last looked up; nil if they could not be.
        var generation: Int?

        mutating func makeRoom(for count: Int) -> Bool {
            while items.count >= MissingListOutput.maximumURLs
                || bytes + count > MissingListOutput.maximumBytes
            {
                guard let oldest = old.popFirst() else { return false }
                if items[oldest]?.isAsked == false { remove(oldest) }
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
    /// Two calls of ``save(_:_:)`` may overlap when the server ends.
    private let saving = Mutex<Void>(())

    init(_ output: MissingListOutput) throws {
        self.output = output
        let last = try output.load()
        for url in last { note(url, isAsked: false) }
        state.withLock { state in
            state.old = state.items.sorted { $0.value.number < $1.value.number }.map(\.key)[...]
            // Earlier versions noted URLs with secrets.
            state.isChanged = state.items.count < last.count
        }
    }

    /// Notes a URL as it was asked for, unless it cannot be fetched, or has a secret of the client
    /// in it. If there is no room, URLs are dropped that no client has asked for since the server
    /// was started, the oldest first.
    func note(_ url: String, isAsked: Bool = true) {
        guard MissingListOutput.isKept(url), !TargetMask.hasSecret(url) else { return }
        state.withLock { state in
            let bytes = Array(url.utf8)
            guard state.items[bytes] == nil else {
                state.items[bytes]?.isAsked = true
                return
            }
            guard state.makeRoom(for: bytes.count) else {
                state.isFull = true
                return
            }
            state.items[bytes] = Item(url: url, number: state.count, isAsked: isAsked)
            state.count += 1
            state.bytes += bytes.count
            state.isChanged = true
        }
    }

    /// Writes the list if it has changed, without URLs that are cached now. Called every few
    /// seconds, and at the end.
    func save(_ cache: LiveCache, _ log: ServerLog) {
        let isFull = state.withLock { state in
            defer { state.isFullTold = state.isFull }
            return state.isFull && !state.isFullTold
        }
        if isFull { log.problem("the list of missing icons is full: no more URLs are noted") }
        saving.withLock { _ in
            // Before the look-up: the next call sees later changes.
            let generation = cache.refresh()
            if state.withLock({ $0.generation != generation }) { removeCached(cache, generation) }
            do { try write() } catch { log.problem("the list of missing icons: \(error)") }
        }
    }

    private func removeCached(_ cache: LiveCache, _ generation: Int) {
        let items = state.withLock { $0.items }
        var isKnown = true
        let cached = items.filter { _, item in
            do {
                return try cache.resource(item.url) != nil
            } catch {
                isKnown = false
                return false
            }
        }
        state.withLock { state in
            state.generation = isKnown ? generation : nil
            for key in cached.keys { state.remove(key) }
            if !cached.isEmpty { state.isFull = false }
        }
    }

    private func write() throws {
        let items: [Item]? = state.withLock { state in
            guard state.isChanged else { return nil }
            state.isChanged = false
            return Array(state.items.values)
        }
        guard let items else { return }
        let urls = items.sorted { $0.number < $1.number }.map(\.url)
        do {
            try output.store(MissingListOutput.text(of: urls))
        } catch {
            state.withLock { $0.isChanged = true }
            throw error
        }
    }
}

package struct MissingListOutput: Sendable {
    static let maximumURLs = 10_000
    static let maximumBytes = 2 << 20
    /// The longest text in bytes. A byte of a URL becomes up to six, and each URL has a line.
    package static let maximumSize = maximumBytes * 6 + maximumURLs * 16

    let load: @Sendable () throws -> [String]
    let store: @Sendable (String) throws -> Void

    /// `load` returns the URLs of the last list (``urls(of:)``), and is called once. `store`
    /// replaces the list's text. Its calls are seconds apart, and never overlap.
    package init(
        load: @escaping @Sendable () throws -> [String],
        store: @escaping @Sendable (String) throws -> Void
    ) {
        self.load = load
        self.store = store
    }

    package static func text(of urls: [String]) -> String {
        let lines = urls.map { url in
            var entry = JSONObject()
            entry.set("icon", exactly: url)
            return entry.text
        }
        return lines.isEmpty ? "[]\n" : "[\n\(lines.joined(separator: ",\n"))\n]\n"
    }

    /// Returns the URLs of a list's text, which may be empty or `[]`. Nil if it is not exactly what
    /// a server writes: it may be a manifest of the user's, which must not be replaced.
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

    /// Whether a URL may be on a list: it can be fetched, and has no user or password.
    static func isKept(_ url: String) -> Bool {
        guard url.utf8.count <= ManifestLimits.maximumURLSize, let parsed = try? HTTPURL(url)
        else { return false }
        return parsed.credentials == nil
    }
}
