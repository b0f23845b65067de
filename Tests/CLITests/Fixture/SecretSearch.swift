import Foundation
import LarderTestSupport
import Testing

/// A search for secrets in the files and output of a run.
struct SecretSearch {
    private let needles: [Data]

    /// Searches for each secret in plain text, and in Base64 at each of the three possible offsets.
    init(_ secrets: String...) {
        needles = secrets.flatMap { secret in
            [Data(secret.utf8)]
                + (0..<3).map { offset in
                    // The characters that depend on adjacent bytes are removed at both ends.
                    let padded = Data(repeating: 0, count: offset) + Data(secret.utf8)
                    let whole = padded.prefix(padded.count / 3 * 3).base64EncodedString()
                    return Data(whole.dropFirst(offset == 0 ? 0 : 4).utf8)
                }
        }
    }

    /// Expects no secret in the files below a directory, neither in names nor in contents.
    func expectNothing(
        inFilesBelow directory: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var files = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
            expectNothing(in: Data(name.utf8), name, sourceLocation: sourceLocation)
            let url = URL(fileURLWithPath: "\(directory)/\(name)")
            guard let bytes = try? Data(contentsOf: url) else { continue }
            files += 1
            expectNothing(in: bytes, name, sourceLocation: sourceLocation)
        }
        #expect(files > 0, "nothing was searched", sourceLocation: sourceLocation)
    }

    /// Expects no secret in the output of a process.
    func expectNothing(
        in finished: Finished, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectNothing(
            in: finished.standardOutputBytes, "standard output", sourceLocation: sourceLocation)
        expectNothing(
            in: finished.standardErrorBytes, "standard error", sourceLocation: sourceLocation)
    }

    func expectNothing(
        in bytes: Data, _ name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(!finds(in: bytes), "\(name) has the secret", sourceLocation: sourceLocation)
    }

    func finds(in bytes: Data) -> Bool {
        needles.contains { bytes.range(of: $0) != nil }
    }
}
