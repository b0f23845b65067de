import Foundation
import LarderCache
import LarderKit

/// A manifest in its plain form, in a temporary file without a name: made once, and sent as often
/// as it is asked for.
///
/// Each URL of an icon begins with a mark, in the place of which the server's own is sent.
final class ManifestSpool: Sendable {
    /// No JSON has it.
    static let mark: UInt8 = 0

    let size: Int64
    /// How many marks there are.
    let marks: Int
    /// How many entries cannot be used.
    let unusable: Int
    /// Another one for each spool.
    let name = UInt64.random(in: .min ... .max)
    private let file: FileDescriptor

    /// - Throws: `ManifestError` if it cannot be read; `CacheError` if it cannot be written.
    init(_ manifest: ServedManifest, rules: ManifestRules) throws {
        let file = try FileDescriptor.unnamed()
        var writer = ManifestSpoolWriter(file)
        var unusable = 0
        let summary = try ManifestReader(source: manifest.source, rules: rules).read { item in
            switch item.result {
            case .entry(let entry):
                try writer.add(
                    entry.name, entry.resourceKey, entry.priority, entry.expectedDigest,
                    entry.expectedSize)
            case .inline(let entry):
                try writer.add(
                    entry.name, entry.resourceKey, entry.priority, entry.expectedDigest,
                    entry.expectedSize)
            case .failed: unusable += 1
            case .skipped: break
            }
        }
        if let refusal = summary.refusal(of: manifest.source) { throw refusal }
        try writer.finish()
        self.file = file
        self.unusable = unusable
        size = writer.size
        marks = writer.marks
    }

    /// The text from `offset` on, as much as fits.
    func read(at offset: Int64, atMost limit: Int) throws(CacheError) -> [UInt8] {
        let bytes = try file.read(at: offset, atMost: limit)
        guard !bytes.isEmpty else { throw CacheError("read", subject: file.subject, errno: EIO) }
        return bytes
    }
}
