import GRDB

extension Cache {
    /// Writes a consistent copy of the cache beside others who read and write it: one index file
    /// without a log, and every object that it names. The copy opens on a read-only medium, and as
    /// a cache of its own.
    ///
    /// - Parameters:
    ///   - path: where; nothing may be there, or an empty directory.
    ///   - isCancelled: asked often: true ends it within moments, and nothing is left of it.
    ///     Default: never.
    ///   - onProgress: called after every object with what is copied so far. Default: nothing.
    /// - Throws: ``CacheError``, `.unusable` if the place is taken or lies in the cache;
    ///   `CancellationError`.
    public func snapshot(
        to path: String, isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) throws -> SnapshotReport {
        if let damage { throw damage }
        do {
            return try CacheSnapshot(
                of: directory, index: index, isCancelled: isCancelled, onProgress: onProgress
            ).write(to: path)
        } catch let error as DatabaseError {
            throw CacheError(index: CacheLayout.index, error)
        }
    }
}
