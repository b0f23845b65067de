/// What a table view shows from some moment on.
package struct ScrollEvent: Sendable, Equatable {
    /// Seconds since the scroll began.
    package var time: Double
    /// The row at the top.
    package var first: Int
    /// How many rows are visible.
    package var visible: Int

    package init(time: Double, first: Int, visible: Int) {
        self.time = time
        self.first = first
        self.visible = visible
    }

    /// The rows that are visible of a table with that many.
    package func rows(of count: Int) -> Range<Int> {
        let first = min(first, count)
        return first..<first + min(visible, count - first)
    }
}
