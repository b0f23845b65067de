import Foundation
import Testing

/// The files of a fixture's cache, for tests that damage them.
extension CLIFixture {
    func objectPath(_ url: String) throws -> String {
        let finished = try run("path", url)
        try #require(finished.status == 0, "\(finished)")
        return finished.standardOutput.trimmingCharacters(in: .newlines)
    }

    /// Replaces the bytes of a read-only object.
    func overwrite(_ path: String, with bytes: [UInt8]) throws {
        chmod(path, 0o644)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o444)
    }

    func temporaries() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: cache + "/tmp")
    }

    var hasCache: Bool { FileManager.default.fileExists(atPath: cache) }
}
