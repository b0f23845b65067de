import Foundation

/// A row that became visible, and wants its image.
package struct RowRequest: Sendable {
    /// Tells it from each other time that a row became visible.
    package let appearance: Int
    /// The cell that shows it; later it may show another row.
    package let cell: Int
    package let row: Int
    package let url: URL
}
