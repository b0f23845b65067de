import LarderKit

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

extension IconProblem {
    /// That of an entry that has no icon.
    static func without(_ item: ManifestItem, _ reason: String) -> Self {
        Self(code: .noIcon, name: item.name ?? "", url: nil, message: reason)
    }

    /// That of an entry that cannot be used.
    static func bad(_ item: ManifestItem, _ error: EntryError) -> Self {
        let place = item.line.map { "line \($0)" } ?? "entry \(item.position)"
        return Self(
            code: .badEntry, name: item.name ?? "", url: nil,
            message: "\(place): \(error.message)")
    }
}

/// A reason, in the words of a report.
public protocol ProblemReason: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// The entry has no icon.
    static var noIcon: Self { get }
    /// The entry of the manifest cannot be used.
    static var badEntry: Self { get }
    /// Whether it is skipped, and has not failed.
    var isSkip: Bool { get }
}
