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
    /// - Throws: `ManifestError` if the file is something else, which is not to be overwritten; a
    ///   manifest with names, digests or keys is, since the list has no place for them.
    @Sendable private func load() throws -> [String] {
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > 0 else { return [] }
        var urls: [String] = []
        var bytes = 0
        var refusal: ManifestError?
        do {
            _ = try ManifestReader(source: .file(path)).read { item in
                guard case .entry(let entry) = item.result, entry.icon.credentials == nil,
                    entry == Entry(icon: entry.icon, spelling: entry.spelling)
                else {
                    refusal = self.refusal(
                        .notAManifest, at: .entry(item.position), "has more than a URL")
                    throw CancellationError()
                }
                urls.append(entry.writtenURL)
                bytes += entry.writtenURL.utf8.count
                guard urls.count <= MissingListOutput.maximumURLs,
                    bytes <= MissingListOutput.maximumBytes
                else {
                    refusal = self.refusal(.tooLarge, "is larger than a list of missing icons")
                    throw CancellationError()
                }
            }
        } catch is CancellationError {}
        if let refusal { throw refusal }
        return urls
    }

    private func refusal(
        _ code: ManifestError.Code, at place: ManifestError.Place? = nil, _ reason: String
    ) -> ManifestError {
        ManifestError(
            code, source: path, at: place, "\(reason); --missing-list needs a file of its own")
    }
}
