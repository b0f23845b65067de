import Foundation
import LarderCache
import LarderCore

/// The icons of a cache directory, with a cache in memory. An ``IconLoader`` adds fetched icons.
///
///     let icons = IconCache(directory: caches.appendingPathComponent("icons"))
///     let data = try await icons.data(for: url)
///
/// A URL matches a URL in the manifest if both are equal by the WHATWG URL standard, or by RFC 3986
/// with normalized escapes.
///
/// No function blocks the calling thread on the disk, a file lock or another process. Bytes are
/// verified at the first read, and again only if the file has changed. Times of use are recorded in
/// batches, for `larder evict`.
public final class IconCache: @unchecked Sendable {
    // Unchecked because `lock` guards `reads` and `lastReader`.
    private typealias Reader = AsyncThrowingStream<MemoryCache.Entry?, any Error>.Continuation

    static let maximumReads = 4
    private static let useDelay = DispatchTimeInterval.seconds(2)

    /// The icons in memory.
    public let memory: MemoryCache
    let log: CacheLog
    private let layers: [CacheLayer]
    private let uses = DispatchQueue(label: "larder.use", qos: .background)
    private let writer: IconWriter?
    let queue = OperationQueue()
    private let lock = NSLock()
    /// The callers that wait for a read. Empty if all were cancelled before the read started.
    private var reads: [String: [Int: Reader]] = [:]
    private var lastReader = 0
    var readers: Int { lock.withLock { reads.values.reduce(0) { $0 + $1.count } } }

    /// The directory `NAME/icons` in the user's caches directory. `NAME` is the app's bundle
    /// identifier, or on Linux the process name.
    public static var defaultDirectory: URL {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
        let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return caches.appendingPathComponent(app).appendingPathComponent("icons")
    }

    /// Creates a cache of one or two directories, which the first read opens. Both may be missing.
    /// If both contain an icon, the copy received later is used.
    ///
    /// - Parameters:
    ///   - directory: The writable directory, created when the first fetched icon is stored.
    ///   - bundle: A read-only directory, usually in the app's bundle. Default: nil.
    ///   - log: Receives messages about reads and loads. Default: none.
    public convenience init(
        directory: URL, bundle: URL? = nil, memory: MemoryCache = MemoryCache(),
        log: CacheLog = .none
    ) {
        let main = CacheLayer(path: directory.path, source: .disk, log: log)
        let shipped = bundle.map { CacheLayer(path: $0.path, source: .bundle, log: log) }
        let writer = IconWriter(path: directory.path, log: log)
        self.init([main, shipped].compactMap(\.self), writer, memory, log)
    }

    /// Creates a cache without a directory.
    public convenience init(memory: MemoryCache, log: CacheLog = .none) {
        self.init([], nil, memory, log)
    }

    private init(
        _ layers: [CacheLayer], _ writer: IconWriter?, _ memory: MemoryCache, _ log: CacheLog
    ) {
        (self.layers, self.writer, self.memory, self.log) = (layers, writer, memory, log)
        queue.maxConcurrentOperationCount = Self.maximumReads
        queue.qualityOfService = .userInitiated
        queue.name = "larder.icons"
    }

    /// Returns the icon's bytes, or nil if the icon is not cached. Throws like ``entry(for:)``.
    public func data(for url: URL) async throws -> Data? { try await entry(for: url)?.data }

    /// Returns the icon, or nil if it is not cached. Concurrent calls for an icon share one read.
    ///
    /// - Throws: `CacheError` if the cached icon cannot be read (`.corrupt` if it is damaged), or
    ///   `CancellationError` as soon as the task is cancelled.
    public func entry(for url: URL) async throws -> MemoryCache.Entry? {
        if let entry = memory.entry(for: url.absoluteString) { return entry }
        return try await entry(onDiskFor: url)
    }

    func entry(onDiskFor url: URL) async throws -> MemoryCache.Entry? {
        guard !layers.isEmpty else { return nil }
        let key = url.absoluteString
        // A stream ends as soon as its caller is cancelled.
        let entries = AsyncThrowingStream<MemoryCache.Entry?, any Error> { join(key, $0) }
        for try await entry in entries { return entry }
        throw CancellationError()
    }

    private func join(_ key: String, _ reader: Reader) {
        let (number, isFirst) = lock.withLock {
            lastReader += 1
            let isFirst = reads[key] == nil
            reads[key, default: [:]][lastReader] = reader
            return (lastReader, isFirst)
        }
        reader.onTermination = { [self] _ in
            lock.withLock { _ = reads[key]?.removeValue(forKey: number) }
        }
        guard isFirst else { return }
        queue.addOperation { [self] in
            let isUnused = lock.withLock {
                if reads[key]?.isEmpty == true { reads[key] = nil }
                return reads[key] == nil
            }
            if isUnused { return }
            let entry = Result { try read(key) }
            for reader in lock.withLock({ reads.removeValue(forKey: key) ?? [:] }).values {
                reader.yield(with: entry)
                reader.finish()
            }
        }
    }

    /// Adds a fetched icon to memory, and to the disk unless its URL has credentials or is not http
    /// or https. `isStored` is true if the icon is being written to the disk.
    func keep(
        _ icon: FetchedIcon, for url: URL, isReplacing: Bool
    ) -> (entry: MemoryCache.Entry, isStored: Bool) {
        let key = url.absoluteString
        let entry = MemoryCache.Entry(data: icon.data, mediaType: icon.mediaType, source: .network)
        // The writer gets the icon first, because memory may have no space for it.
        let stored = Self.storedURL(key)
        let isStored =
            stored.flatMap { writer?.take(icon, entry, for: $0, isReplacing: isReplacing) } ?? false
        memory.insert(entry, for: key)
        return (entry, isStored)
    }

    /// Returns the icon if it is in memory or waiting to be stored. Does not count a miss.
    func entry(keptFor url: URL) -> MemoryCache.Entry? {
        let key = url.absoluteString
        return memory.contains(key) ? memory.entry(for: key) : unstoredEntry(key)
    }

    private func unstoredEntry(_ key: String) -> MemoryCache.Entry? {
        Self.storedURL(key).flatMap { writer?.entry($0.key) }
    }

    private static func storedURL(_ text: String) -> HTTPURL? {
        guard let url = try? HTTPURL(text), url.credentials == nil else { return nil }
        return url
    }

    func waitUntilStorable() async { await writer?.waitUntilStorable() }

    /// The error of the last attempt to store fetched icons; nil if it succeeded.
    public var storeFailure: CacheError? { writer?.lastFailure }

    /// Stores pending icons and times of use, and closes the directories until the next read. Call
    /// it before the app is suspended. Ignores task cancellation.
    public func flush() async {
        await withCheckedContinuation { waiter in
            queue.addOperation { [self] in
                writer?.close()
                uses.sync { layers.forEach { $0.cache.recordUse() } }
                layers.forEach { $0.cache.close() }
                waiter.resume()
            }
        }
    }

    private func read(_ key: String) throws -> MemoryCache.Entry? {
        if let entry = unstoredEntry(key) {
            memory.insert(entry, for: key)
            return entry
        }
        var failure: (any Error)?
        func attempt<Value>(_ body: () throws -> Value?) -> Value? {
            do { return try body() } catch {
                // The other directory may have an undamaged copy.
                failure = failure ?? error
                return nil
            }
        }
        let copies = layers.compactMap { layer in
            attempt { try layer.resource(key) }.map { (layer: layer, resource: $0) }
        }.sorted { $0.resource.receivedAt > $1.resource.receivedAt }
        // The error of a directory counts only if no directory has the icon.
        if !copies.isEmpty { failure = nil }
        for (layer, resource) in copies {
            let object = resource.object
            guard let data = attempt({ try layer.data(of: object) }) else { continue }
            let entry = MemoryCache.Entry(
                data: data, mediaType: object.mediaType, source: layer.source)
            memory.insert(entry, for: key)
            if layer.source == .disk { noteUse(of: object, in: layer.cache) }
            return entry
        }
        if let failure { throw failure }
        return nil
    }

    private func noteUse(of object: StoredObject, in cache: LiveCache) {
        guard cache.noteUse(of: object) else { return }
        uses.asyncAfter(deadline: .now() + Self.useDelay) { [weak cache] in cache?.recordUse() }
    }
}

package struct CacheLayer {
    /// The maximum size of an object in bytes. A foreign cache must not fill the app's memory.
    private static let maximumSize: Int64 = 256 << 20
    let source: MemoryCache.Entry.Source
    let cache: LiveCache

    package init(path: String, source: MemoryCache.Entry.Source, log: CacheLog) {
        cache = LiveCache(path: path, log: log)
        self.source = source
        // `host` would decode an escape that a full-width percent sign forms.
        InternationalHosts.install { URLComponents(string: "http://\($0)/")?.encodedHost }
    }

    package func resource(_ url: String) throws -> Resource? {
        try unlessMissing { try cache.resource(url) } ?? nil
    }

    package func data(of object: StoredObject) throws -> Data? {
        try unlessMissing { try cache.data(of: object, atMost: Self.maximumSize).data }
    }

    private func unlessMissing<Value>(_ body: () throws -> Value) throws -> Value? {
        do {
            // Another process may have created the index since the last read.
            if let cache = cache.opened, cache.indexURI == nil { self.cache.close() }
            return try body()
        } catch let error as CacheError where error.code == .missing {
            return nil
        }
    }
}
