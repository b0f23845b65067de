import Foundation
import LarderTestSupport
import Testing

/// Searches what a run has left, byte by byte.
struct SecretSearch {
    private let needles: [Data]

    /// Each secret as it is, and in base64 wherever it may begin within an encoded text.
    init(_ secrets: String...) {
        needles = secrets.flatMap { secret in
            [Data(secret.utf8)]
                + (0..<3).map { offset in
                    // What depends on the neighbours is cut off at both ends.
                    let padded = Data(repeating: 0, count: offset) + Data(secret.utf8)
                    let whole = padded.prefix(padded.count / 3 * 3).base64EncodedString()
                    return Data(whole.dropFirst(offset == 0 ? 0 : 4).utf8)
                }
        }
    }

    /// Insists that no file beneath a directory has any of it, in its name or its bytes.
    func expectNothing(
        inFilesBeneath directory: String, sourceLocation: SourceLocation = #_sourceLocation
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

    /// Insists that neither output of a process has any of it.
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

    /// Whether any of it is there.
    func finds(in bytes: Data) -> Bool {
        needles.contains { bytes.range(of: $0) != nil }
    }
}
