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
