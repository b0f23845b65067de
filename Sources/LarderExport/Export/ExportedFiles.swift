import LarderCache

/// How a layout's files are written and removed.
protocol ExportedFiles {
    /// Notes what is about to be written.
    func begin(_ list: ExportList) throws

    /// Puts an icon into its place.
    func place(_ object: StoredObject, _ stem: String) throws -> Placement

    /// Writes what lists the files, and removes those of no icon in the list if it is to.
    ///
    /// - Throws: ``CacheError``, `CancellationError`.
    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws
}

extension ExportedFiles {
    func begin(_ list: ExportList) throws {}
}
