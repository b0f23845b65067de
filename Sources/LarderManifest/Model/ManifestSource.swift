import Foundation
import LarderCore

/// A source of a manifest's bytes.
public enum ManifestSource: Sendable {
    /// A file, a named pipe or a device.
    case file(String)
    /// Standard input, from its current position.
    case standardInput
    /// An open file descriptor, from its current position. The caller closes it.
    case descriptor(Int32, name: String)
    /// Bytes in memory.
    case bytes([UInt8], name: String)
    /// An http or https URL. If `open` is nil, a prefetch or a cache provides the opener.
    case url(HTTPURL, open: Opener? = nil)

    /// A function that opens the manifest at a URL.
    public typealias Opener = @Sendable (HTTPURL) throws -> OpenedManifest

    /// The name in messages and reports. Standard input is `-`.
    public var name: String {
        switch self {
        case .file(let path): path
        case .standardInput: "-"
        case .descriptor(_, let name), .bytes(_, let name): name
        case .url(let url, _): "\(url)"
        }
    }

    /// Whether the same content can be opened again. False for a path to a pipe.
    package var canBeReadAgain: Bool {
        switch self {
        case .file(let path):
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        case .bytes, .url: return true
        case .standardInput, .descriptor: return false
        }
    }

    var isOnDisk: Bool { if case .url = self { false } else { canBeReadAgain } }

    /// Returns the source. If it is a URL, `open` replaces its opener.
    public func opened(by open: @escaping Opener) -> ManifestSource {
        guard case .url(let url, _) = self else { return self }
        return .url(url, open: open)
    }

    /// Returns the source. If it is a URL, it is read from a cache.
    ///
    /// - Parameter find: Opens the cached manifest, or returns nil if it is not cached.
    public func cached(
        _ find: @escaping @Sendable (HTTPURL) throws -> (descriptor: Int32, baseURL: HTTPURL)?
    ) -> ManifestSource {
        opened { url in
            guard let file = try find(url) else { throw ManifestError.notCached(url) }
            return OpenedManifest(descriptor: file.descriptor, baseURL: file.baseURL)
        }
    }
}

/// An open manifest from a URL.
public struct OpenedManifest {
    /// A file descriptor at the manifest's start. The reader closes it.
    public let descriptor: Int32
    /// The URL after redirects, the base of relative URLs in the manifest.
    public let baseURL: HTTPURL
    /// Called when the whole manifest has been read. `hasCredentials` is true if it may contain
    /// URLs with credentials. Default: nil.
    public var whenRead: ((_ hasCredentials: Bool) throws -> Void)?

    /// Creates an open manifest, and takes ownership of the descriptor.
    public init(descriptor: Int32, baseURL: HTTPURL) {
        self.descriptor = descriptor
        self.baseURL = baseURL
    }
}
