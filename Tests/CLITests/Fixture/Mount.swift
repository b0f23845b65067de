import Foundation
import LarderTestSupport

/// A file system that a test mounts. It needs root on Linux.
struct Mount: Sendable {
    let path: String

    struct Failure: Error {
        let finished: Finished
    }

    /// Mounts a file system in memory with a size limit, for example `2m`.
    static func memory(at path: String, size: String) throws -> Mount {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        // The default mode is 1777, which is not permitted for a cache.
        try mount(["-t", "tmpfs", "-o", "size=\(size),mode=755", "tmpfs", path])
        return Mount(path: path)
    }

    /// Mounts the directory `source` read-only at `path`.
    static func readOnly(_ source: String, at path: String) throws -> Mount {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try mount(["--bind", source, path])
        let mount = Mount(path: path)
        do { try mount.remount("ro,bind") } catch {
            mount.remove()
            throw error
        }
        return mount
    }

    func remount(_ options: String) throws {
        try Self.mount(["-o", "remount,\(options)", path])
    }

    func remove() { _ = try? RunningProcess("/bin/umount", ["-l", path]).wait() }

    static let isPossible: Bool = {
        #if os(Linux)
            guard geteuid() == 0 else { return false }
            return
                (try? withTemporaryDirectory { directory in
                    try memory(at: directory.path("probe"), size: "64k").remove()
                }) != nil
        #else
            return false
        #endif
    }()

    private static func mount(_ arguments: [String]) throws {
        let finished = try RunningProcess("/bin/mount", arguments).wait()
        guard finished.status == 0 else { throw Failure(finished: finished) }
    }
}
