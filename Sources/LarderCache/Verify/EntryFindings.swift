extension VerifyReport {
    /// The findings about entries of manifests: not cached, or not as the manifest demands. A
    /// manifest may have millions, so they are kept in a temporary file.
    public struct EntryFindings: Sendable {
        /// The number of findings.
        public let count: Int
        /// The number of those whose entry has a URL that a prefetch would fetch.
        package let fetchable: Int
        /// The first finding, in the order of the manifests.
        package let first: Finding?
        private let read: @Sendable ((Finding) throws -> Void) throws -> Void

        /// - Parameter read: calls its argument for each finding, in the order of the manifests.
        package init(
            count: Int = 0, fetchable: Int = 0, first: Finding? = nil,
            read: @escaping @Sendable ((Finding) throws -> Void) throws -> Void = { _ in }
        ) {
            self.count = count
            self.fetchable = fetchable
            self.first = first
            self.read = read
        }

        /// Calls `body` for each finding, in the order of the manifests.
        ///
        /// - Throws: ``CacheError`` if the temporary file cannot be read; what `body` throws.
        public func forEach(_ body: (Finding) throws -> Void) throws { try read(body) }
    }
}
