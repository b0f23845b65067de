import Foundation
import Testing

/// The files of a fixture's cache, for tests that damage them.
extension CLIFixture {
    /// The path of a cached URL's object.
    func objectPath(_ url: String) throws -> String {
        let finished = try run("path", url)
        try #require(finished.status == 0, "\(finished)")
        return finished.standardOutput.trimmingCharacters(in: .newlines)
    }

    /// Replaces an object's bytes, read-only as it is.
    func overwrite(_ path: String, with bytes: [UInt8]) throws {
        chmod(path, 0o644)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o444)
    }

    /// What is in `tmp/`.
    func temporaries() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: cache + "/tmp")
    }

    /// Whether the cache directory is there.
    var hasCache: Bool { FileManager.default.fileExists(atPath: cache) }
}
