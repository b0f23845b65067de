import Foundation

extension CacheDirectory {
    /// Whether this is a cache, or a directory in which nothing else is: an empty one.
    ///
    /// - Throws: ``CacheError`` `.unusable` if it is not one and something else uses it as larder
    ///   would: what is in `tmp/` is swept some day, and what is in the index is migrated or set
    ///   aside.
    func isCache(_ hasOwnIndex: (CacheDirectory) -> Bool) throws(CacheError) -> Bool {
        if try isMarked(hasOwnIndex) { return true }
        for name in CacheLayout.databaseFiles + [CacheLayout.temporary] {
            guard let status = try root.status(of: name) else { continue }
            if status.isDirectory {
                // As a process leaves it that is killed while it makes a cache.
                if try root.directory(name).names().isEmpty { continue }
            }
            // Another process may have made a cache here meanwhile.
            if try isMarked(hasOwnIndex) { return true }
            throw CacheError(
                .unusable, subject: path,
                message: "is not a cache, and has something of its own called \(name); choose"
                    + " another directory")
        }
        let own = CacheLayout.ownNames.union(CacheLayout.databaseFiles)
        return try root.names().allSatisfy(own.contains)
    }

    /// Whether there is something that only larder leaves. Objects' directory comes before all
    /// else, and is the last that anybody deletes.
    private func isMarked(
        _ hasOwnIndex: (CacheDirectory) -> Bool
    ) throws(CacheError) -> Bool {
        do throws(CacheError) {
            let objects = try root.directory(CacheLayout.objects)
            if try objects.status(of: CacheLayout.algorithm) != nil { return true }
        } catch  where error.isOutOfReach {}
        if try root.status(of: CacheLayout.snapshot) != nil { return true }
        if try hasOwnTag() { return true }
        // SQLite would wait for ever to read a pipe.
        guard try root.status(of: CacheLayout.index)?.isRegularFile == true else { return false }
        return hasOwnIndex(self)
    }

    private func hasOwnTag() throws(CacheError) -> Bool {
        let own = Array(CacheLayout.tagContents.utf8)
        do throws(CacheError) {
            return try root.file(CacheLayout.tag).read(atMost: own.count) == own
        } catch  where error.isOutOfReach {
            return false
        }
    }

    /// Makes what every cache has.
    func layOut() throws(CacheError) {
        let objects = try root.directory(CacheLayout.objects, create: true)
        _ = try root.directory(CacheLayout.temporary, create: true)
        _ = try objects.directory(CacheLayout.algorithm, create: true)
        try Durability.add(objects)
        try Durability.add(root)
        // Empty is what a killed process left; anybody else's tag stays.
        if let tag = try root.status(of: CacheLayout.tag),
            !tag.isRegularFile || tag.st_size > 0 || tag.st_nlink > 1
        {
            return
        }
        let tag = try root.createOrOpen(CacheLayout.tag)
        try tag.write(Array(CacheLayout.tagContents.utf8))
    }
}
