import Foundation
import LarderKit
import LarderServer

/// The file behind `--missing-list`: a manifest that is replaced as a whole.
struct MissingListFile {
    let path: String

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
        MissingListOutput(load: load) { try OutputFile.write($0, to: path) }
    }

    /// The URLs of the last list.
    ///
    /// - Throws: `ManifestError` if the file is something else, which is not to be overwritten.
    @Sendable private func load() throws -> [String] {
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > 0 else { return [] }
        var urls: [String] = []
        _ = try ManifestReader(source: .file(path)).read { item in
            guard case .entry(let entry) = item.result else { return }
            urls.append(entry.spelling ?? entry.icon.string)
        }
        return urls
    }
}
