import Foundation

/// Room that is kept for the day that the disk is full to its last byte: deleting takes some, too,
/// for the index's log. A file of the root whose blocks are really allocated; an eviction gives it
/// up first, and takes it again in the end. Nothing depends on it.
struct Reserve {
    /// What it takes, by the size of the index.
    private static let sizes: ClosedRange<Int64> = (1 << 20)...(4 << 20)
    /// It is made only if so many times its size is free.
    private static let margin: Int64 = 16

    private let directory: CacheDirectory

    init(_ directory: CacheDirectory) { self.directory = directory }

    /// Makes it if there is room and it is not there, or has become too small.
    func take() {
        #if !canImport(Darwin)
            let root = directory.root
            guard let index = try? root.status(of: CacheLayout.index),
                let space = try? DiskSpace(of: root)
            else { return }
            let size = min(
                max(2 * Int64(index.st_size), Self.sizes.lowerBound), Self.sizes.upperBound)
            guard space.free >= Self.margin * size else { return }
            let old = try? root.status(of: CacheLayout.reserve)
            if let old, !old.isRegularFile || old.st_nlink > 1 || old.allocatedBytes >= size {
                return
            }
            guard let file = try? root.createOrOpen(CacheLayout.reserve, mode: 0o600)
            else { return }
            // Blocks that nobody else gets, on all file systems that write in place.
            if posix_fallocate(file.raw, 0, off_t(size)) != 0 { giveUp() }
        #endif
    }

    func giveUp() {
        let file = try? directory.root.status(of: CacheLayout.reserve)
        if file?.isRegularFile == true { unlinkat(directory.root.raw, CacheLayout.reserve, 0) }
    }
}
