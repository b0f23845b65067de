import Foundation
import LarderCache

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
    /// An http or https URL.
    case remote(RemoteManifest)

    /// What messages and reports call the source; `-` for standard input.
    public var name: String {
        switch self {
        case .file(let path): path
        case .standardInput: "-"
        case .descriptor(_, let name), .bytes(_, let name): name
        case .remote(let manifest): "\(manifest.url)"
        }
    }

    /// Whether it gives the same again when it is opened a second time. A path may be a pipe's.
    package var canBeReadAgain: Bool {
        switch self {
        case .file(let path):
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        case .bytes, .remote: return true
        case .standardInput, .descriptor: return false
        }
    }

    /// Whether it can be opened again, and costs nothing but the reading.
    var isOnDisk: Bool {
        if case .remote = self { return false }
        return canBeReadAgain
    }

    /// The same, but a manifest at a URL is not downloaded: a cache has it from the last prefetch,
    /// or it is missing. Reading it changes nothing.
    ///
    /// - Parameter cache: nil reads as an empty one.
    public func cached(in cache: Cache?) -> ManifestSource {
        kept(on: ManifestShelf(cache: cache))
    }

    /// The same, but a manifest at a URL is kept on a shelf, and its download can be cancelled.
    func kept(
        on shelf: ManifestShelf, unless isCancelled: @escaping @Sendable () -> Bool = { false }
    ) -> ManifestSource {
        guard case .remote(var manifest) = self else { return self }
        manifest.shelf = shelf
        manifest.isCancelled = isCancelled
        return .remote(manifest)
    }

    /// Throws ``ManifestError`` with the code `missing`, `unreadable`, or `tooLarge`; of one at a
    /// URL `CacheError` and `CancellationError`, too.
    func open() throws -> ByteInput {
        switch self {
        case .file(let path):
            // The string would end at a NUL for the system, and another file be read.
            guard !path.utf8.contains(0) else {
                throw ManifestError.system(EINVAL, "cannot open", source: name)
            }
            let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw ManifestError.system(errno, "cannot open", source: name)
            }
            return ByteInput(descriptor: descriptor, isOwned: true, name: name)
        case .standardInput:
            return ByteInput(descriptor: STDIN_FILENO, isOwned: false, name: name)
        case .descriptor(let descriptor, _):
            return ByteInput(descriptor: descriptor, isOwned: false, name: name)
        case .bytes(let bytes, _):
            return ByteInput(bytes: bytes, name: name)
        case .remote(let manifest):
            let input = try manifest.download()
            input.maximumUnpackedBytes = manifest.maximumBytes
            return input
        }
    }
}
