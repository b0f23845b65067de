import Foundation
import LarderCache
import LarderKit
import LarderTransfer
import NIOCore

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
    /// Another one for each spool.
    let name = UInt64.random(in: .min ... .max)
    private let file: Int32

    /// - Throws: `ManifestError` if it cannot be read; `CacheError` if it cannot be written.
    init(_ manifest: ServedManifest, rules: ManifestRules) throws {
        var path = Array((NSTemporaryDirectory() + "larder-serve-XXXXXX").utf8CString)
        let file = mkstemp(&path)
        guard file >= 0 else {
            throw CacheError("open", subject: NSTemporaryDirectory(), errno: errno)
        }
        unlink(path)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        var writer = ManifestSpoolWriter(file)
        do {
            _ = try ManifestReader(source: manifest.source, rules: rules).read { item in
                switch item.result {
                case .entry(let entry):
                    try writer.add(
                        entry.name, entry.resourceKey, entry.priority, entry.expectedDigest,
                        entry.expectedSize)
                case .inline(let entry):
                    try writer.add(
                        entry.name, entry.resourceKey, entry.priority, entry.expectedDigest,
                        entry.expectedSize)
                case .skipped, .failed: break
                }
            }
            try writer.finish()
        } catch {
            close(file)
            throw error
        }
        self.file = file
        size = writer.size
        marks = writer.marks
    }

    deinit { close(file) }

    /// The text from `offset` on, as much as fits; nil if it cannot be read.
    func read(at offset: Int64, atMost limit: Int) -> [UInt8]? {
        var isRead = true
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { room, count in
            let read = pread(file, room.baseAddress, room.count, off_t(offset))
            isRead = read > 0
            count = max(0, read)
        }
        return isRead ? bytes : nil
    }
}
