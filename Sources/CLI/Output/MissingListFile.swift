import Foundation
import LarderCache
import LarderKit
import LarderServer
import Synchronization

/// The file behind `--missing-list`: a manifest that is replaced as a whole.
final class MissingListFile: Sendable {
    /// URLs that clients asked for are nobody else's business.
    private static let mode: mode_t = 0o600

    private let path: String
    private let lastFailure = Mutex<OutputFailure?>(nil)

    /// Why it could not be written the last time; nil if it could.
    var failure: OutputFailure? { lastFailure.withLock { $0 } }

    /// - Parameters:
    ///   - manifests: what the server reads.
    ///   - cache: what it serves.
    /// - Throws: `ValidationError` if it is one of the manifests, or lies in the cache;
    ///   ``OutputFailure`` if it is clear that it could not be written.
    init(path: String, manifests: [String], cache: CacheOptions) throws {
        try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--missing-list")
        try OutputReplacement(path, mode: Self.mode).check()
        self.path = path
    }

    var output: MissingListOutput {
        MissingListOutput(load: load) { [self] text in
            do throws(OutputFailure) {
                try OutputFile.write(text, to: path, mode: Self.mode)
                lastFailure.withLock { $0 = nil }
            } catch {
                lastFailure.withLock { $0 = error }
                throw error
            }
        }
    }

    /// The URLs of the last list.
    ///
    /// - Throws: `ManifestError` if the file is something else, which is not to be overwritten.
    @Sendable private func load() throws -> [String] {
        let largest = MissingListOutput.maximumSize
        let text: Data
        do {
            let folder = try UsersPath(path.parentDirectory).folder()
            guard try folder.status(of: path.lastName) != nil else { return [] }
            let file = try folder.file(path.lastName)
            // One of an earlier version.
            let status = try file.status()
            if status.st_uid == geteuid(), status.st_mode & 0o077 != 0 {
                try file.setMode(Self.mode)
            }
            let handle = FileHandle(fileDescriptor: file.raw, closeOnDealloc: false)
            text = try handle.read(upToCount: largest + 1) ?? Data()
            withExtendedLifetime(file) {}
        } catch {
            throw ManifestError(.unreadable, source: path, "cannot be read")
        }
        guard let urls = MissingListOutput.urls(of: text) else {
            throw ManifestError(
                .notAManifest, source: path,
                "is not a list that larder wrote; give --missing-list a file of its own")
        }
        return urls
    }
}
