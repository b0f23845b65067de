import Foundation

extension FileDescriptor {
    /// Opens a temporary file without a name: nobody's but this process's, and gone with its last
    /// descriptor.
    package static func unnamed() throws(CacheError) -> FileDescriptor {
        FileDescriptor(taking: try openUnnamed(), subject: "a temporary file")
    }

    /// The same for who closes it otherwise.
    package static func openUnnamed() throws(CacheError) -> Int32 {
        var path = Array((NSTemporaryDirectory() + "larder-XXXXXX").utf8CString)
        let raw = mkstemp(&path)
        guard raw >= 0 else {
            throw CacheError(
                "make a temporary file", subject: NSTemporaryDirectory(), errno: errno)
        }
        unlink(path)
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        return raw
    }

    /// The bytes from `offset` on, as many as there are and fit; does not move the position.
    package func read(at offset: Int64, atMost limit: Int) throws(CacheError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { room, count in
            var read: Int
            repeat {
                read = pread(raw, room.baseAddress, room.count, off_t(offset))
            } while read < 0 && errno == EINTR
            if read < 0 { code = errno }
            count = max(0, read)
        }
        guard code == 0 else { throw CacheError("read", subject: subject, errno: code) }
        return bytes
    }
}
