/// Why an icon was skipped, or has failed.
public struct IconProblem<Reason: ProblemReason>: Sendable, Equatable {
    /// What the reasons are.
    public typealias Code = Reason

    /// The reason.
    public let code: Code
    /// The entry's name; text from outside.
    public let name: String
    /// Its URL, or what it is looked up by; nil if there is none. Text from outside.
    public let url: String?
    /// The reason in words; text from outside may be in it.
    public let message: String
}

/// A reason, in the words of a report.
public protocol ProblemReason: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// Whether it is skipped, and has not failed.
    var isSkip: Bool { get }
}
