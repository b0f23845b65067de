import Foundation
import LarderCache

/// A file that is replaced as a whole: who reads it sees the old one or the new one.
enum OutputFile {
    /// - Throws: ``CacheError`` where it cannot be written; the old file is still there then.
    static func write(_ text: String, to path: String) throws(CacheError) {
        var status = stat()
        // A device, or a link to somewhere, is not to be replaced by a file.
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw CacheError(.unusable, subject: path, message: "is not a regular file")
        }
        // The ending is none that a collector of `*.prom` reads.
        let temporary = "\(path).\(String(UInt32.random(in: .min ... .max), radix: 36)).tmp"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw CacheError("open", subject: path, errno: errno) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(text.utf8))
            guard rename(temporary, path) == 0 else {
                throw POSIXError(.init(rawValue: errno) ?? .EIO)
            }
        } catch {
            let number = errno
            unlink(temporary)
            throw CacheError("write", subject: path, errno: number)
        }
    }
}
