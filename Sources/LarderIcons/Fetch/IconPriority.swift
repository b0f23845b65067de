/// How soon an icon is wanted. What has the higher priority is read and fetched first; of two that
/// have the same, what was asked for first.
public enum IconPriority: Int, Sendable, Comparable, CaseIterable {
    case veryLow
    /// Rows ahead, see ``IconLoader/prefetch(_:)``.
    case low
    case normal
    case high
    /// Rows that a person looks at.
    case veryHigh

    /// Whether an icon of the one is got after one of the other.
    public static func < (left: IconPriority, right: IconPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}
