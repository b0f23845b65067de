import Foundation
import LarderCore

/// Why a file cannot be read as a manifest.
public struct ManifestError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// There is no such file.
        case missing
        /// The file cannot be opened or read; ``ManifestError/errorNumber`` says why.
        case unreadable
        /// The file is empty, or blank.
        case empty
        /// The content is not a manifest, or has no entries where they belong.
        case notAManifest = "not-a-manifest"
        /// The format's own rules are broken, or the file ends early.
        case malformed
        /// The document type has declarations, which are never read.
        case entityDeclared = "entity-declared"
        /// XML that nests deeper than can be skipped.
        case tooDeep = "too-deep"
        /// The whole exceeds what is read.
        case tooLarge = "too-large"
    }

    /// A place in the manifest.
    public enum Place: Equatable, Sendable, CustomStringConvertible {
        /// Both count from 1; columns count bytes.
        case line(Int, column: Int? = nil)
        /// An element, counted from 1.
        case entry(Int)

        /// The place in words.
        public var description: String {
            switch self {
            case .line(let line, nil): "line \(line)"
            case .line(let line, let column?): "line \(line), column \(column)"
            case .entry(let position): "entry \(position)"
            }
        }
    }

    /// The kind of failure.
    public let code: Code
    /// The manifest's name, as given: text from outside.
    public let source: String
    /// Where it failed, if at a place.
    public let place: Place?
    /// The failure in words, without source and place; safe to print.
    public let reason: String
    /// The system's `errno`, if a call of the system failed.
    public let errorNumber: Int32?

    /// Takes the parts of a message.
    public init(
        _ code: Code, source: String, at place: Place? = nil, _ reason: String,
        errorNumber: Int32? = nil
    ) {
        self.code = code
        self.source = source
        self.place = place
        self.reason = reason
        self.errorNumber = errorNumber
    }

    /// Source, place and reason: `apps.jsonl: line 17: unexpected ','`; safe to print.
    public var description: String {
        let parts = [source.sanitizedForTerminal, place?.description, reason]
        return parts.compactMap(\.self).joined(separator: ": ")
    }

    package static func system(_ number: Int32, _ doing: String, source: String) -> ManifestError {
        let isMissing = number == ENOENT || number == ENOTDIR
        let words = String(cString: strerror(number))
        return ManifestError(
            isMissing ? .missing : .unreadable, source: source, "\(doing): \(words)",
            errorNumber: number)
    }

    package static func notCached(_ url: HTTPURL) -> ManifestError {
        ManifestError(
            .missing, source: "\(url)",
            "is not in the cache, or not whole: a prefetch that may ask its server gets it,"
                + " larder verify --repair mends it")
    }
}

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
