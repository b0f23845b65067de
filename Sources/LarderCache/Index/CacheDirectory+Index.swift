extension CacheDirectory {
    /// The same, with the index's own test of what is its own.
    convenience init(
        path: String, create: Bool, lock: Lock = .shared, wait: LockWait = .none
    ) throws(CacheError) {
        try self.init(
            path: path, create: create, lock: lock, wait: wait, hasOwnIndex: CacheIndex.isOwn)
    }
}
