import Foundation

/// What a store says of an object.
package struct ListedObject: Hashable, Sendable {
    /// Its name, without the prefix of the whole store.
    package var key: String
    /// How many bytes it has.
    package var size: Int64
    /// When it was written, by the store's clock.
    package var modified: Date

    /// An object.
    package init(key: String, size: Int64, modified: Date) {
        self.key = key
        self.size = size
        self.modified = modified
    }
}
