import Foundation
import LarderCore

/// Finds out which objects have files. Opens each directory of the object tree once, so that an
/// object takes one system call. Belongs to one thread or serial queue.
package final class ObjectPresence: @unchecked Sendable {
    // Unchecked because the variables belong to the thread or queue that calls it.

    private let directory: CacheDirectory
    private var tree: FileDescriptor?
    /// Beginnings of paths, by the first byte of digests: nil before the first object, "" if the
    /// directory is missing, a link, or may not be entered.
    private var fanOuts = [String?](repeating: nil, count: 256)

    init(in directory: CacheDirectory) { self.directory = directory }

    /// Whether each object's place has a regular file of its size, or with its digest.
    package func arePresent(
        _ objects: [(digest: Digest, size: Int64)]
    ) throws(CacheError) -> [Bool] {
        var arePresent = [Bool](repeating: false, count: objects.count)
        guard !objects.isEmpty else { return arePresent }
        do throws(CacheError) {
            let objectTree = if let tree { tree } else { try directory.objects() }
            tree = objectTree
            for (index, object) in objects.enumerated() {
                do throws(CacheError) {
                    guard let fanOut = try self.fanOut(of: object.digest, in: objectTree),
                        let status = try objectTree.status(of: fanOut + object.digest.hex),
                        status.isRegularFile
                    else { continue }
                    arePresent[index] =
                        Int64(status.st_size) == object.size || directory.isWhole(object.digest)
                } catch  where error.isOutOfReach {}
            }
        } catch  where error.isAbsence {}
        return arePresent
    }

    private func fanOut(
        of digest: Digest, in objects: FileDescriptor
    ) throws(CacheError) -> String? {
        if let known = fanOuts[Int(digest.firstByte)] { return known.isEmpty ? nil : known }
        let name = CacheLayout.fanOut(digest)
        var path = "\(name)/"
        do throws(CacheError) {
            _ = try objects.directory(name)
        } catch  where error.isOutOfReach {
            path = ""
        }
        fanOuts[Int(digest.firstByte)] = path
        return path.isEmpty ? nil : path
    }
}
