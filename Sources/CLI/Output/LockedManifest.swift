import ArgumentParser
import Foundation
import LarderKit
import Synchronization

/// The file behind `--write-lock`: a JSON array with an icon a line. It takes the place of the last
/// one when the run has ended and not one icon failed.
final class LockedManifest: Sendable {
    private let file: OutputReplacement?
    private let isEmpty = Mutex(true)

    /// Writes nothing yet.
    ///
    /// - Parameters:
    ///   - path: `-` is standard output.
    ///   - manifests: what the run reads.
    ///   - cache: what it writes.
    /// - Throws: `ValidationError` if it is one of the manifests, or lies in the cache;
    ///   ``OutputFailure`` if it is clear that it could not be written.
    init(path: String, manifests: [String], cache: CacheOptions) throws {
        guard path != "-" else {
            file = nil
            return
        }
        try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--write-lock")
        let file = OutputReplacement(path)
        try file.check()
        self.file = file
    }

    /// Adds an icon.
    func add(_ entry: LockedEntry) {
        let isFirst = isEmpty.withLock { isEmpty in
            defer { isEmpty = false }
            return isEmpty
        }
        write((isFirst ? "[\n" : ",\n") + entry.json)
    }

    /// - Throws: ``OutputFailure`` if it could not be written.
    func commit() throws {
        write(isEmpty.withLock { $0 } ? "[]\n" : "\n]\n")
        try file?.commit()
    }

    private func write(_ text: String) {
        if let file { file.add(text) } else { print(text, terminator: "") }
    }
}
