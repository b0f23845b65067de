import Foundation

/// The fan-out directories of the object tree, kept open: the victims of every transaction lie in
/// all of them.
final class FanOuts {
    private let directory: CacheDirectory
    private var open: [String: FileDescriptor] = [:]

    init(_ directory: CacheDirectory) { self.directory = directory }

    /// Nil if a link or a file is in the directory's place, or nothing at all.
    ///
    /// - Throws: ``CacheError``, its subject the path beneath the root.
    func directory(of digest: Digest) throws(CacheError) -> FileDescriptor? {
        let name = CacheLayout.fanOut(digest)
        if let fanOut = open[name] { return fanOut }
        do throws(CacheError) {
            let fanOut = try directory.objects().directory(name)
            open[name] = fanOut
            return fanOut
        } catch  where error.isAbsence {
            return nil
        } catch  where error.errno == EMFILE && !open.isEmpty {
            open = [:]
            return try directory(of: digest)
        }
    }

    /// The bytes on disk that are free once an object's file is removed.
    func room(of digest: Digest) throws(CacheError) -> Int64 {
        guard let status = try directory(of: digest)?.status(of: digest.hex), status.isRegularFile
        else { return 0 }
        return status.freeableBytes
    }
}
