import Foundation
import LarderCache
import LarderCore
import LarderIcons

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A source of icons for a `URLSession`, from a cache directory instead of the network.
///
/// A request for a missing icon fails, and ``finish()`` throws an error with its URL. Several
/// instances can be used at the same time. In Swift Testing, the trait
/// `offlineIcons(cache:manifest:)` creates an instance for each test.
///
/// URLs match as in `IconCache`. The status is always 200, and range requests get all bytes. HEAD
/// gets no body. On Linux, Foundation does not support download tasks.
public final class OfflineIcons: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.

    /// A request for an icon that cannot be answered.
    public struct MissingIconError: Error, Sendable, CustomStringConvertible {
        /// The icon's URL, without credentials and secrets.
        public let url: String
        /// The reason and the next step.
        public let reason: String
        /// The URL and the reason.
        public var description: String { "\(url) \(reason)" }
        /// The URL for the list of missing icons; nil if a prefetch would not help.
        let listed: String?
    }

    typealias Answer = (data: Data, mediaType: String)

    /// The instance for the current test; nil without the trait `offlineIcons(cache:manifest:)`.
    @TaskLocal public static var current: OfflineIcons?

    private let cache: String
    private let layer: CacheLayer
    private let locked: LockedIcons?
    private let list: MissingList?
    private let placeholder: Answer?
    private let lock = NSLock()
    private var found: [MissingIconError] = []
    private var urls: Set<String> = []
    private var listFailure: OfflineIconsError?
    private var protocolClass: URLProtocol.Type = URLProtocol.self

    /// Opens a cache for a test.
    ///
    /// - Parameters:
    ///   - cache: A cache directory. A prefetch may add icons at the same time.
    ///   - manifest: A lock that `larder prefetch --write-lock` wrote. Only its icons are
    ///     returned, and only if their digests and sizes match. Default: nil, for all cached icons.
    ///   - missingList: A manifest for `larder prefetch`, to which each missing URL is added once.
    ///     Tests and processes can share it. Default: nil.
    ///   - strict: Whether requests for missing icons fail. If false, they get `placeholder`, and
    ///     ``finish()`` does not throw for them. Default: true.
    ///   - placeholder: The colour of a PNG image of 64 × 64 pixels. Default: magenta.
    /// - Throws: `CacheError` if the cache does not exist or is damaged, or ``OfflineIconsError``
    ///   if `manifest` or `missingList` cannot be used.
    public init(
        cache: URL, manifest: URL? = nil, missingList: URL? = nil, strict: Bool = true,
        placeholder: PlaceholderColor = .magenta
    ) throws {
        try Cache.open(at: cache.path).close()
        self.cache = cache.path
        layer = CacheLayer(path: cache.path, source: .disk, log: .none)
        locked = try manifest.map { try LockedIcons(contentsOf: $0) }
        list = try missingList.map { try MissingList($0) }
        self.placeholder = strict ? nil : (placeholder.image, "image/png")
        protocolClass = OfflineInstances.add(self)
    }

    deinit { OfflineInstances.unshare(protocolClass) }

    /// A new configuration for a `URLSession`, without a `URLCache`. Its requests fail after this
    /// instance is released.
    public var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [protocolClass]
        configuration.urlCache = nil
        return configuration
    }

    /// The icons that could not be returned since the last ``finish()``, each once.
    public var missing: [MissingIconError] { lock.withLock { found } }

    /// Also answers the requests of `URLSession.shared`, until ``finish()`` is called or this
    /// instance is released. Call this function before the first request. Throws an
    /// ``OfflineIconsError`` if another instance answers them.
    public func serveSharedSession() throws {
        guard !OfflineInstances.share(protocolClass) else { return }
        throw OfflineIconsError(
            .shared, subject: "URLSession.shared",
            message: "is served by another OfflineIcons; run the tests one at a time (.serialized)")
    }

    /// Throws an ``OfflineIconsError`` if icons were missing or their list cannot be written. In
    /// any case, forgets the missing icons, so that another test can use this instance.
    public func finish() throws {
        OfflineInstances.unshare(protocolClass)
        let (missing, failure) = lock.withLock {
            defer { (found, urls, listFailure) = ([], [], nil) }
            return (found, listFailure)
        }
        if placeholder == nil, !missing.isEmpty {
            throw OfflineIconsError(missing, list: list?.path, failure)
        }
        if let failure { throw failure }
    }

    func answer(to request: URLRequest) throws(MissingIconError) -> Answer {
        do {
            return try icon(for: request)
        } catch {
            let isNew = lock.withLock {
                guard urls.insert(error.listed ?? error.url).inserted else { return false }
                found.append(error)
                return true
            }
            if isNew, let url = error.listed {
                do throws(OfflineIconsError) { try list?.add(url) } catch {
                    lock.withLock { listFailure = error }
                }
            }
            if let placeholder { return placeholder }
            throw error
        }
    }

    private func icon(for request: URLRequest) throws(MissingIconError) -> Answer {
        let text = request.url?.absoluteString ?? ""
        guard let url = try? HTTPURL(text) else {
            throw MissingIconError(
                url: text.maskingSecrets.sanitizedForTerminal,
                reason: "is not an http or https URL, so it cannot be cached", listed: nil)
        }
        let isRead = ["GET", "HEAD"].contains(request.httpMethod ?? "GET")
        let isIcon = isRead && url.credentials == nil
        func missing(_ reason: String) -> MissingIconError {
            MissingIconError(
                url: url.description, reason: reason, listed: isIcon ? url.string : nil)
        }
        guard isIcon else {
            throw missing("can only be requested with GET or HEAD and without credentials")
        }
        let entries = locked?[url] ?? []
        if let locked, entries.isEmpty {
            throw missing("is not in \(locked.name); add the icon and write the lock again")
        }
        let manifest = locked?.path.shellArgument ?? "URLS"
        let advice = "run `larder prefetch \(manifest) \(String.shellOption("--cache", cache))`"
        do {
            // The `key` of a locked icon is not a URL, so it is not normalized.
            let key = entries.first?.key.map(ResourceKey.named) ?? text
            guard let resource = try layer.resource(key),
                let data = try layer.data(of: resource.object)
            else { throw missing("is not cached; \(advice)") }
            let digest = resource.object.digest
            guard entries.allSatisfy({ $0.allows(digest, size: data.count) }) else {
                throw missing("is cached with bytes that do not match the lock; \(advice)")
            }
            return (data, resource.object.mediaType ?? "application/octet-stream")
        } catch {
            throw error as? MissingIconError ?? missing("cannot be read from the cache: \(error)")
        }
    }
}

struct LockedIcons {
    struct Entry: Decodable {
        let icon, integrity: String
        let key: String?
        let size: Int

        func allows(_ digest: Digest, size: Int) -> Bool {
            let text = "sha256-" + Data(digest.bytes).base64EncodedString()
            return size == self.size && integrity.utf8.elementsEqual(text.utf8)
        }
    }

    private static let maximumSize = 64 << 20
    let path: String
    let name: String
    private let entries: [CacheKey: [Entry]]

    subscript(url: HTTPURL) -> [Entry] { entries[CacheKey(url.key)] ?? [] }

    init(contentsOf file: URL) throws(OfflineIconsError) {
        path = file.path
        name = file.lastPathComponent.sanitizedForTerminal
        do {
            // A longer lock is cut off, so it cannot be decoded.
            let text = try FileHandle(forReadingFrom: file).read(upToCount: Self.maximumSize)
            let list = try JSONDecoder().decode([Entry].self, from: text ?? Data())
            // A lock can also contain `data:` URLs.
            entries = list.reduce(into: [:]) { entries, entry in
                guard let url = try? HTTPURL(entry.icon) else { return }
                entries[CacheKey(url.key), default: []].append(entry)
            }
        } catch {
            throw OfflineIconsError(
                .manifest, subject: file.path,
                message: "cannot be read as a lock of at most \(Self.maximumSize >> 20) MiB;"
                    + " write one with `larder prefetch MANIFEST --write-lock FILE`",
                underlying: error)
        }
    }
}

/// The colour of the image that ``OfflineIcons`` returns instead of a missing icon.
public struct PlaceholderColor: Sendable, Equatable {
    /// A colour that icons rarely have.
    public static let magenta = PlaceholderColor(red: 255, green: 0, blue: 255)

    /// The components in sRGB.
    public let red, green, blue: UInt8

    /// Creates a colour from its components in sRGB.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }

    var image: Data {
        let palette = Array("PLTE".utf8) + [red, green, blue]
        var checksum = ~UInt32(0)
        for byte in palette {
            checksum ^= UInt32(byte)
            for _ in 0..<8 {
                checksum = checksum & 1 == 1 ? checksum >> 1 ^ 0xEDB8_8320 : checksum >> 1
            }
        }
        return Self.header + [0, 0, 0, 3] + palette
            + withUnsafeBytes(of: (~checksum).bigEndian) { Data($0) } + Self.pixels
    }

    private static let header = Data(
        base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+Od")!
    private static let pixels = Data(
        base64Encoded: "AAAAD0lEQVR42mNgGAWjgHwAAAJAAAHgTR1EAAAAAElFTkSuQmCC")!
}
