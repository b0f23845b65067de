import Foundation
import LarderCache

/// A temporary file without a name, which is gone with its last user. Written by one thread, then
/// read by any.
final class ScratchFile: Sendable {
    private let file: Int32

    /// - Throws: `CacheError` if there is no room for it.
    init() throws(CacheError) {
        var path = Array((NSTemporaryDirectory() + "larder-serve-XXXXXX").utf8CString)
        file = mkstemp(&path)
        guard file >= 0 else {
            throw CacheError("open", subject: NSTemporaryDirectory(), errno: errno)
        }
        unlink(path)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(file) }

    /// Writes at the end.
    func write(_ bytes: some Collection<UInt8>) throws(CacheError) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw CacheError("write", subject: NSTemporaryDirectory(), errno: errno)
            }
            rest = rest.dropFirst(count)
        }
    }

    /// The bytes from `offset` on, as many as fit.
    ///
    /// - Throws: `CacheError` if they cannot be read, or there are none.
    func read(at offset: Int64, atMost limit: Int) throws(CacheError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { room, count in
            var read: Int
            repeat {
                read = pread(file, room.baseAddress, room.count, off_t(offset))
            } while read < 0 && errno == EINTR
            if read <= 0 { code = read < 0 ? errno : EIO }
            count = max(0, read)
        }
        guard code == 0 else {
            throw CacheError("read", subject: "a temporary file", errno: code)
        }
        return bytes
    }
}
