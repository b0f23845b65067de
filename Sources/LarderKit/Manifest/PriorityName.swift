/// The names of priorities, with the values of Foundation's `Operation.QueuePriority`.
enum PriorityName: String, CaseIterable {
    case veryLow, low, normal, high, veryHigh

    var value: Int {
        switch self {
        case .veryLow: -8
        case .low: -4
        case .normal: 0
        case .high: 4
        case .veryHigh: 8
        }
    }

    /// The name of exactly this priority, if it has one.
    init?(of priority: Int) {
        guard let name = Self.allCases.first(where: { $0.value == priority }) else { return nil }
        self = name
    }
}
