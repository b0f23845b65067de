import Foundation
import LarderCache

/// A temporary file without a name: nobody's but this process's, and gone with its descriptor,
/// which is the maker's to close.
struct UnnamedFile {
    let descriptor: Int32

    /// - Parameter source: whose bytes it is for.
    init(for source: String) throws(ManifestError) {
        do throws(CacheError) {
            descriptor = try FileDescriptor.openUnnamed()
        } catch {
            throw ManifestError.system(
                error.errno ?? EIO, "cannot make a temporary file", source: source)
        }
    }

    /// Writes bytes behind those that are there; returns an error number, 0 if there is none.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
