import Foundation
import LarderCache
import LarderKit

/// The file behind `--report`: one JSON line for each entry, on disk's way as soon as the entry is
/// settled.
///
/// A file that cannot be written keeps no icon from being fetched: what is the matter is told at the
/// end.
final class ReportFile {
    private let path: String
    private let handle: FileHandle
    private var buffer = Data()
    /// Why lines are missing from some point on; nil where none is.
    private(set) var failure: CacheError?

    /// Creates the file, or empties it.
    init(path: String) throws {
        self.path = path
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw CacheError("open", subject: path, errno: errno) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func add(_ result: EntryResult) {
        guard failure == nil else { return }
        buffer.append(contentsOf: result.json.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= 64 * 1024 { flush() }
    }

    /// Hands the lines to the system; from then on they survive the process.
    func flush() {
        guard !buffer.isEmpty, failure == nil else { return }
        do {
            try handle.write(contentsOf: buffer)
        } catch {
            failure = CacheError("write", subject: path, errno: errno)
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
