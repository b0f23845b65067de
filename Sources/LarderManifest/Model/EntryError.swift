/// Why one entry of a manifest cannot be used; the others can.
public struct EntryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The reason, in the words of the report.
    public enum Code: String, Sendable, CaseIterable {
        case notADictionary = "not-a-dictionary"
        /// `icon` is neither a string nor null.
        case iconNotAString = "icon-not-a-string"
        /// `icon` is not a URL.
        case unparsableURL = "unparsable-url"
        /// `icon` is a template with a placeholder that nothing fills.
        case unfilledPlaceholder = "unfilled-placeholder"
        /// `icon` has a scheme other than `http` and `https`.
        case unsupportedScheme = "unsupported-scheme"
        /// `icon` has no scheme, and there is no base URL.
        case relativeURL = "relative-url"
        /// What is named as a priority is neither a name of a priority nor an integer.
        case badPriority = "bad-priority"
        /// `integrity` or `sha256` names no single SHA-256 digest.
        case badIntegrity = "bad-integrity"
        /// No longer occurs: a `size` that is not a byte count is ignored.
        case badSize = "bad-size"
        /// No longer occurs: a `key` that cannot be one is ignored.
        case badKey = "bad-key"
        /// An earlier entry of the manifest has the same `key` and another URL, or other bytes.
        case keyConflict = "key-conflict"
        /// A line of JSON Lines that is not JSON.
        case unparsableLine = "unparsable-line"
        /// The element takes more than ``ManifestLimits/maximumEntrySize``.
        case tooLarge = "too-large"
        /// The element nests deeper than ``ManifestLimits/maximumDepth``.
        case tooDeep = "too-deep"
    }

    /// The reason.
    public let code: Code
    /// The reason in words, without file, line and position; safe to print.
    public let message: String

    /// The scheme, if it is one that is not fetched; text from outside.
    package var scheme: String?

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String, scheme: String? = nil) {
        self.code = code
        self.message = message
        self.scheme = scheme
    }

    static func tooLarge(_ limits: ManifestLimits) -> EntryError {
        EntryError(.tooLarge, "takes more than \(limits.maximumEntrySize) bytes")
    }

    static func tooDeep(_ limits: ManifestLimits) -> EntryError {
        EntryError(.tooDeep, "nests deeper than \(limits.maximumDepth) levels")
    }
}
