/// Colours for what a person looks for first, or none.
package struct Paint: Sendable {
    /// Leaves text as it is.
    package static let none = Paint(isOn: false)

    private let isOn: Bool

    /// - Parameter isOn: whether there are colours.
    package init(isOn: Bool) { self.isOn = isOn }

    /// What went wrong, in red.
    package func failed(_ text: String) -> String { colour(31, text) }

    /// What is out of date, in yellow.
    package func stale(_ text: String) -> String { colour(33, text) }

    /// What is as it should be, in green.
    package func clean(_ text: String) -> String { colour(32, text) }

    /// ECMA-48, 8.3.117.
    private func colour(_ number: Int, _ text: String) -> String {
        isOn ? "\u{1B}[\(number)m\(text)\u{1B}[0m" : text
    }
}
