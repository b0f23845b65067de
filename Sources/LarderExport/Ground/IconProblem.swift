import LarderManifest

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

/// The icons of a report that were skipped or have failed: all are counted, the first are kept.
public struct IconProblems<Code: ProblemReason>: Sendable {
    /// How many failures are kept in words: 100.
    public static var limit: Int { 100 }

    /// How many there are of each reason.
    public private(set) var counts: [Code: Int] = [:]
    /// The first that failed.
    public private(set) var failures: [IconProblem<Code>] = []

    /// Icons that were skipped.
    public var skipped: Int { count { $0.isSkip } }
    /// Icons that failed.
    public var failed: Int { count { !$0.isSkip } }

    private func count(_ isCounted: (Code) -> Bool) -> Int {
        counts.reduce(0) { isCounted($1.key) ? $0 + $1.value : $0 }
    }

    mutating func note(_ problem: IconProblem<Code>) {
        counts[problem.code, default: 0] += 1
        if !problem.code.isSkip, failures.count < Self.limit { failures.append(problem) }
    }
}

/// Why an icon was not exported.
public typealias ExportProblem = IconProblem<ExportReason>

/// The reason, in the words of the report.
public enum ExportReason: String, ProblemReason {
    // Skipped: nothing is wrong.

    /// The entry has no icon.
    case noIcon = "no-icon"
    /// The manifest has the icon itself, and there is no URL that an app would ask for.
    case noURL = "no-url"
    /// It is no image.
    case notAnImage = "not-an-image"
    /// Xcode takes no image of that type.
    case unsupportedType = "unsupported-type"
    /// A gallery shows no more icons.
    case notShown = "not-shown"

    // Failed.

    /// The entry of the manifest cannot be used.
    case badEntry = "bad-entry"
    /// It is not in the cache.
    case missing
    /// Its object is gone, or has other bytes.
    case corrupt
    /// The manifest demands other bytes.
    case integrityMismatch = "integrity-mismatch"
    /// The manifest demands another size.
    case sizeMismatch = "size-mismatch"
    /// Its object cannot be read.
    case unreadable
    /// Something that is not a file is in its place, or its name is too long.
    case obstructed
    /// Another icon has the same name, and other bytes.
    case ambiguous

    /// Whether it is skipped, and has not failed.
    public var isSkip: Bool {
        switch self {
        case .noIcon, .noURL, .notAnImage, .unsupportedType, .notShown: true
        case .badEntry, .missing, .corrupt, .integrityMismatch, .sizeMismatch, .unreadable,
            .obstructed, .ambiguous:
            false
        }
    }
}

/// Why an icon was not imported, though a file may be there.
public typealias ImportProblem = IconProblem<ImportReason>

/// The reason, in the words of the report.
public enum ImportReason: String, ProblemReason {
    // Skipped: nothing is wrong.

    /// The entry has no icon.
    case noIcon = "no-icon"
    /// The manifest has the icon itself: prefetch stores it.
    case noURL = "no-url"

    // Failed.

    /// The entry of the manifest cannot be used.
    case badEntry = "bad-entry"
    /// What is in the file's place is none: a link, a directory, a pipe.
    case notAFile = "not-a-file"
    /// The file cannot be read.
    case unreadable
    /// The library has stored the body of an error.
    case errorResponse = "error-response"
    /// The file has more bytes than are allowed.
    case tooLarge = "too-large"
    /// The file is no image, or not a whole one.
    case notAnImage = "not-an-image"
    /// The manifest demands other bytes, or the directory's list has others.
    case integrityMismatch = "integrity-mismatch"
    /// The manifest demands another size.
    case sizeMismatch = "size-mismatch"
    /// The cache could not take it.
    case unstored

    /// Whether it is skipped, and has not failed.
    public var isSkip: Bool { self == .noIcon || self == .noURL }
}
