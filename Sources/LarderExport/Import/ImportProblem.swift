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
