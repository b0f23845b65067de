/// An object and where the index has it.
package struct IndexedObject: Sendable {
    /// The number of its row, which another object may have when it is gone.
    package let row: Int64
    package let digest: Digest

    package init(row: Int64, digest: Digest) {
        self.row = row
        self.digest = digest
    }
}
