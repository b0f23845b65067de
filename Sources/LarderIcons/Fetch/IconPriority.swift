/// How soon an icon is wanted. What has the higher priority is read and fetched first; among equals,
/// what was asked for first.
public enum IconPriority: Int, Sendable, Comparable, CaseIterable {
    case veryLow
    /// Rows ahead, see ``IconLoader/prefetch(_:)``.
    case low
    case normal
    case high
    /// Rows that a person looks at.
    case veryHigh

    public static func < (left: IconPriority, right: IconPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}
