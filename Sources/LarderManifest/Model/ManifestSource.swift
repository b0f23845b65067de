import Foundation
import LarderCore

/// Where a manifest's bytes come from.
public enum ManifestSource: Sendable {
    /// A file, a named pipe or a device.
    case file(String)
    /// Standard input, from where it stands.
    case standardInput
    /// An open descriptor, read from where it stands; closing it stays the caller's business.
    case descriptor(Int32, name: String)
    /// Bytes in memory.
    case bytes([UInt8], name: String)
    /// An http or https URL, and how it is opened. Default: nil, by a run or a cache.
    case url(HTTPURL, open: Opener? = nil)

    /// Obtains the bytes of a manifest at a URL.
    public typealias Opener = @Sendable (HTTPURL) throws -> OpenedManifest

    /// What messages and reports call the source; `-` for standard input.
    public var name: String {
        switch self {
        case .file(let path): path
        case .standardInput: "-"
        case .descriptor(_, let name), .bytes(_, let name): name
        case .url(let url, _): "\(url)"
        }
    }

    /// Whether it gives the same again when it is opened a second time. A path may be a pipe's.
    package var canBeReadAgain: Bool {
        switch self {
        case .file(let path):
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        case .bytes, .url: return true
        case .standardInput, .descriptor: return false
        }
    }

    /// Whether it can be opened again, and costs nothing but the reading.
    var isOnDisk: Bool {
        if case .url = self { return false }
        return canBeReadAgain
    }

    /// Returns the source with another opener, if it is a URL.
    public func opened(by open: @escaping Opener) -> ManifestSource {
        guard case .url(let url, _) = self else { return self }
        return .url(url, open: open)
    }

    /// Returns the source; if it is a URL, it is read from a cache or is missing.
    ///
    /// - Parameter find: Opens the cached manifest; nil if there is none.
    public func cached(
        _ find: @escaping @Sendable (HTTPURL) throws -> (descriptor: Int32, baseURL: HTTPURL)?
    ) -> ManifestSource {
        opened { url in
            guard let file = try find(url) else { throw ManifestError.notCached(url) }
            return OpenedManifest(descriptor: file.descriptor, baseURL: file.baseURL)
        }
    }
}

/// The bytes of a manifest at a URL.
public struct OpenedManifest {
    /// A file, from its beginning. The reader closes it.
    public let descriptor: Int32
    /// Where redirects have led: what relative URLs in the manifest are resolved against.
    public let baseURL: HTTPURL
    /// Called when all of it was read, with whether its URLs have credentials. Default: nil.
    public var whenRead: ((_ hasCredentials: Bool) throws -> Void)?

    /// Describes an open file.
    public init(descriptor: Int32, baseURL: HTTPURL) {
        self.descriptor = descriptor
        self.baseURL = baseURL
    }
}
