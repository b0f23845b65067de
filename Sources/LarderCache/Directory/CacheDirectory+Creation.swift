import Foundation

extension CacheDirectory {
    /// Makes the root and what leads to it. By hand, because Foundation hides the error number that
    /// tells a full disk from a missing permission.
    static func makeDirectories(_ path: String) throws(CacheError) {
        guard var number = FileDescriptor.makeDirectory(path) else { return }
        if number == ENOENT {
            try makeDirectories(path.parentDirectory)
            guard let second = FileDescriptor.makeDirectory(path) else { return }
            number = second
        }
        // What is there and is no directory is refused when it is opened.
        guard number == EEXIST else { throw CacheError("mkdir", subject: path, errno: number) }
    }

    /// Whether this is a cache, or a directory in which nothing else is: an empty one.
    ///
    /// - Throws: ``CacheError`` `.unusable` if it is none and something else uses it as larder
    ///   would: what is in `tmp/` is swept some day, and what is in the index is migrated or set
    ///   aside.
    func isCache(_ hasOwnIndex: (CacheDirectory) -> Bool) throws(CacheError) -> Bool {
        if try isMarked(hasOwnIndex) { return true }
        for name in CacheLayout.databaseFiles + [CacheLayout.temporary] {
            guard let status = try root.status(of: name) else { continue }
            if status.isDirectory {
                let directory = try FileDescriptor.directory(name, beneath: root, create: false)
                // As a process leaves it that is killed while it makes a cache.
                if try directory.names(subject: name).isEmpty { continue }
            }
            // Another process may have made a cache here meanwhile.
            if try isMarked(hasOwnIndex) { return true }
            throw CacheError(
                .unusable, subject: path,
                message: "is no cache, and has something of its own called \(name); choose another"
                    + " directory")
        }
        let own = CacheLayout.ownNames.union(CacheLayout.databaseFiles)
        return try root.names(subject: path).allSatisfy(own.contains)
    }

    /// Whether there is something that only larder leaves. Objects' directory comes before all
    /// else, and is the last that anybody deletes.
    private func isMarked(
        _ hasOwnIndex: (CacheDirectory) -> Bool
    ) throws(CacheError) -> Bool {
        do throws(CacheError) {
            let objects = try FileDescriptor.directory(
                CacheLayout.objects, beneath: root, create: false)
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
        var bytes = [UInt8](repeating: 0, count: own.count)
        do throws(CacheError) {
            let tag = try FileDescriptor.open(
                CacheLayout.tag, beneath: root, flags: O_RDONLY | O_NONBLOCK)
            let result: Result<Int, CacheError> = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(CacheError) in
                    try tag.read(into: buffer, subject: CacheLayout.tag)
                }
            }
            return try result.get() == own.count && bytes == own
        } catch  where error.isOutOfReach {
            return false
        }
    }

    /// Makes what every cache has.
    func layOut() throws(CacheError) {
        for name in [CacheLayout.objects, CacheLayout.temporary] {
            _ = try FileDescriptor.directory(name, beneath: root, create: true)
        }
        let objects = try FileDescriptor.directory(
            CacheLayout.objects, beneath: root, create: false)
        _ = try FileDescriptor.directory(CacheLayout.algorithm, beneath: objects, create: true)
        try Durability.add(objects)
        try Durability.add(root)
        // Empty is what a killed process left; anybody else's tag stays.
        if let tag = try root.status(of: CacheLayout.tag),
            !tag.isRegularFile || tag.st_size > 0 || tag.st_nlink > 1
        {
            return
        }
        let tag = try FileDescriptor.open(
            CacheLayout.tag, beneath: root, flags: O_WRONLY | O_CREAT, mode: 0o664)
        var contents = CacheLayout.tagContents
        let result: Result<Void, CacheError> = contents.withUTF8 { bytes in
            Result { () throws(CacheError) in
                try tag.write(UnsafeRawBufferPointer(bytes), subject: CacheLayout.tag)
            }
        }
        try result.get()
    }
}
