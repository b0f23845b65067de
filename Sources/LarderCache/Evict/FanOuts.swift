import Foundation

/// The fan-out directories of the object tree, kept open: objects in the order of their use lie in
/// all of them.
final class FanOuts {
    private let directory: CacheDirectory
    private var open: [String: FileDescriptor] = [:]
    /// The maximum number of directories kept open: a part of the descriptors that the process may
    /// have, because the index needs some, too.
    private let limit: Int

    init(_ directory: CacheDirectory) {
        self.directory = directory
        limit = max(1, Int(min(sysconf(CInt(_SC_OPEN_MAX)), 1_024)) / 8)
    }

    /// Nil if a link or a file is in the directory's place, or nothing at all.
    ///
    /// - Throws: ``CacheError``, its subject the path beneath the root.
    private func directory(of digest: Digest) throws(CacheError) -> FileDescriptor? {
        let name = CacheLayout.fanOut(digest)
        if let fanOut = open[name] { return fanOut }
        if open.count >= limit { open = [:] }
        do throws(CacheError) {
            let fanOut = try directory.objects().directory(name)
            open[name] = fanOut
            return fanOut
        } catch  where error.isAbsence {
            return nil
        }
    }

    /// The bytes on disk that are free once an object's file is removed.
    func room(of digest: Digest) throws(CacheError) -> Int64 {
        guard let status = try directory(of: digest)?.status(of: digest.hex), status.isRegularFile
        else { return 0 }
        return status.freeableBytes
    }
}
