import CLarderSystem
import Foundation

/// Makes what was written durable, a batch at a time.
package enum Durability {
    /// Adds a written file or changed directory to what the next ``flush(_:)`` makes durable.
    ///
    /// - Parameter file: opened only if the system needs it, and one at a time: a batch has more
    ///   files than a process may have descriptors.
    package static func add(
        _ file: @autoclosure () throws(CacheError) -> FileDescriptor
    ) throws(CacheError) {
        #if canImport(Darwin)
            // A barrier orders the file's data; one full flush then empties the drive's cache.
            let file = try file()
            if fcntl(file.raw, F_BARRIERFSYNC) != 0 { try sync(file) }
        #else
            if !syncfsReportsErrors { try sync(try file()) }
        #endif
    }

    /// Returns when everything added before the call is on stable storage.
    ///
    /// One `syncfs` costs the same for one file and for five hundred; hundreds of `fsync` calls on
    /// directories took twenty times as long on ext4. A sync that fails is never to be retried:
    /// the kernel reports a lost write once and then calls the page clean.
    ///
    /// - Parameter root: any descriptor on the file system.
    package static func flush(_ root: FileDescriptor) throws(CacheError) {
        #if canImport(Darwin)
            guard fcntl(root.raw, F_FULLFSYNC) == 0 else {
                throw CacheError("fsync", subject: "cache", errno: errno)
            }
        #else
            guard !syncfsReportsErrors || syncfs(root.raw) == 0 else {
                throw CacheError("syncfs", subject: "cache", errno: errno)
            }
        #endif
    }

    private static func sync(_ file: FileDescriptor) throws(CacheError) {
        guard fsync(file.raw) == 0 else {
            throw CacheError("fsync", subject: "cache", errno: errno)
        }
    }

    #if !canImport(Darwin)
        /// Before Linux 5.8, `syncfs` returned success over lost writes (syncfs(2), "Versions").
        private static let syncfsReportsErrors: Bool = {
            var name = utsname()
            guard uname(&name) == 0 else { return false }
            let release = withUnsafePointer(to: &name.release) {
                $0.withMemoryRebound(to: CChar.self, capacity: 65) { String(cString: $0) }
            }
            let parts = release.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
            guard parts.count >= 2 else { return false }
            return (parts[0], parts[1]) >= (5, 8)
        }()
    #endif
}
