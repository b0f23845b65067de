import Foundation
import LarderCore
import LarderManifest
import Synchronization

/// The URLs that were asked for and are not cached, to be prefetched next time.
final class MissingList: Sendable {
    fileprivate struct Item {
        let url: String
        /// Its place among the others.
        let number: Int
        /// Whether it was asked for since the server was started.
        var isAsked: Bool
    }

    fileprivate struct State {
        var items: [[UInt8]: Item] = [:]
        var count = 0
        var bytes = 0
        /// Those of the last list, the oldest first, as far as they have not been dropped or passed
        /// over for having been asked for since.
        var old: ArraySlice<[UInt8]> = []
        var isChanged = false
        /// Whether one was not noted for want of room, and whether that was said.
        var isFull = false
        var isFullSaid = false
        /// What the cache was when it was last asked for them; nil if it could not be.
        var generation: Int?
    }

    private let output: MissingListOutput
    private let state = Mutex(State())
    /// One saves at a time: the last one may come while another is under way.
    private let saving = Mutex<Void>(())

    /// - Throws: what reading the last list does.
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

    /// Notes a URL as it was asked for, unless it is none that can be fetched, or has a secret of
    /// the client's in it: a user, a password, or a parameter that the access log masks. If there
    /// is no room, those are dropped that nobody has asked for since the server was started, the
    /// oldest first.
    func note(_ url: String) { note(url, isAsked: true) }

    private func note(_ url: String, isAsked: Bool) {
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
        try saving.withLock { _ in
            // Before they are looked up: what changes meanwhile is seen the next time.
            let generation = reader.refresh()
            if state.withLock({ $0.generation != generation }) {
                removeCached(reader, generation)
            }
            try write()
        }
    }

    private func removeCached(_ reader: CacheReader, _ generation: Int) {
        let items = state.withLock { $0.items }
        var isKnown = true
        let cached = items.filter { _, item in
            do {
                return try reader.cache.resource(item.url) != nil
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

extension MissingList.State {
    /// Whether there is room now.
    fileprivate mutating func makeRoom(for count: Int) -> Bool {
        while items.count >= MissingListOutput.maximumURLs
            || bytes + count > MissingListOutput.maximumBytes
        {
            guard let oldest = old.popFirst() else { return false }
            if items[oldest]?.isAsked == false { remove(oldest) }
        }
        return true
    }

    fileprivate mutating func remove(_ key: [UInt8]) {
        guard items.removeValue(forKey: key) != nil else { return }
        bytes -= key.count
        isChanged = true
    }
}

/// Where the list of missing icons is kept.
public struct MissingListOutput: Sendable {
    /// A list has no more URLs.
    public static let maximumURLs = 10_000
    /// Nor have they more bytes.
    public static let maximumBytes = 2 << 20
    /// No text of a list is longer, in bytes: one of a URL's may become six, and each URL has a
    /// line of its own.
    public static let maximumSize = maximumBytes * 6 + maximumURLs * 16

    /// Reads what was kept last.
    let load: @Sendable () throws -> [String]
    /// Takes the list's whole text in the place of the last one.
    let store: @Sendable (String) throws -> Void

    /// Takes both ways.
    ///
    /// - Parameters:
    ///   - load: reads the URLs that were kept last, called once; ``urls(of:)`` has them.
    ///   - store: keeps a manifest, called seconds apart and never twice at a time.
    public init(
        load: @escaping @Sendable () throws -> [String],
        store: @escaping @Sendable (String) throws -> Void
    ) {
        self.load = load
        self.store = store
    }

    /// A list's whole text.
    ///
    /// - Parameter urls: in their order.
    public static func text(of urls: [String]) -> String {
        let lines = urls.map { url in
            var entry = JSONObject()
            entry.set("icon", exactly: url)
            return entry.text
        }
        return lines.isEmpty ? "[]\n" : "[\n\(lines.joined(separator: ",\n"))\n]\n"
    }

    /// The URLs of a list's text; none, if that is empty or `[]`.
    ///
    /// - Returns: nil if it is not byte by byte what a server keeps: a manifest of people's, which
    ///   is not to be replaced.
    public static func urls(of text: Data) -> [String]? {
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

    private struct Line: Decodable {
        let icon: String
    }

    /// Whether it is one that may be on a list: it can be fetched, and has no user or password.
    static func isKept(_ url: String) -> Bool {
        guard url.utf8.count <= ManifestLimits.maximumURLSize, let parsed = try? HTTPURL(url)
        else { return false }
        return parsed.credentials == nil
    }
}
