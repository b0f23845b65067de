import Foundation
import LarderKit
import LarderServer
import Synchronization

/// The file behind `--missing-list`: a manifest that is replaced as a whole.
final class MissingListFile: Sendable {
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
        try OutputReplacement(path).check()
        self.path = path
    }

    var output: MissingListOutput {
        MissingListOutput(load: load) { [self] text in
            do throws(OutputFailure) {
                try OutputFile.write(text, to: path)
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
        var status = stat()
        guard lstat(path, &status) == 0 else { return [] }
        let largest = MissingListOutput.maximumSize
        let text: Data
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            text = try file.read(upToCount: largest + 1) ?? Data()
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
