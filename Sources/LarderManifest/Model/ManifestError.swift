import Foundation
import LarderCore

/// An error that makes a manifest unusable.
public struct ManifestError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        case missing
        /// The file cannot be opened or read. See ``ManifestError/errorNumber``.
        case unreadable
        /// The file is empty or blank.
        case empty
        /// The content is not a manifest, or has no entries where expected.
        case notAManifest = "not-a-manifest"
        /// The content is truncated, or violates its format.
        case malformed
        /// The XML document type has declarations.
        case entityDeclared = "entity-declared"
        /// The values nest too deeply to skip or search.
        case tooDeep = "too-deep"
        /// The manifest exceeds one of ``ManifestLimits``.
        case tooLarge = "too-large"
    }

    /// A position in the manifest.
    public enum Place: Equatable, Sendable, CustomStringConvertible {
        /// A line and a column, from 1. Columns count bytes.
        case line(Int, column: Int? = nil)
        /// The number of an element, from 1.
        case entry(Int)

        /// The position in words.
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
    /// The manifest's name, given by the caller. Untrusted text.
    public let source: String
    /// The position, if known.
    public let place: Place?
    /// The reason, without source and position. Safe to print.
    public let reason: String
    /// The `errno` of a failed system call.
    public let errorNumber: Int32?

    /// Creates an error. The reason must be safe to print.
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

    /// The error in one line, such as `apps.jsonl: line 17: unexpected ','`. Safe to print.
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
            "not in the cache, or damaged; a prefetch downloads the manifest; to repair the cache:"
                + " \(Suggestion.command("verify --repair"))")
    }
}

/// An error that makes one entry unusable.
public struct EntryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of error. Reports contain the raw value.
    public enum Code: String, Sendable, CaseIterable {
        case notADictionary = "not-a-dictionary"
        /// The icon is neither a string nor null.
        case iconNotAString = "icon-not-a-string"
        case unparsableURL = "unparsable-url"
        /// The priority is neither a name nor an integer.
        case badPriority = "bad-priority"
        /// `integrity` or `sha256` does not contain exactly one SHA-256 digest.
        case badIntegrity = "bad-integrity"
        /// No longer used, because an invalid `size` is ignored.
        case badSize = "bad-size"
        /// No longer used, because an invalid `key` is ignored.
        case badKey = "bad-key"
        /// An earlier entry has the same `key`, but a different URL or different bytes.
        case keyConflict = "key-conflict"
        /// Another entry requires different bytes for the same resource.
        case integrityConflict = "integrity-conflict"
        /// A line of JSON Lines that is not JSON.
        case unparsableLine = "unparsable-line"
        /// The element exceeds a limit, such as ``ManifestLimits/maximumEntrySize``.
        case tooLarge = "too-large"
        /// The element nests deeper than ``ManifestLimits/maximumDepth``.
        case tooDeep = "too-deep"
    }

    /// The kind of error.
    public let code: Code
    /// The reason, without source and position. Safe to print.
    public let message: String
    /// Same as ``message``.
    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    static func tooLarge(_ limits: ManifestLimits) -> EntryError {
        EntryError(.tooLarge, "the entry has more than \(limits.maximumEntrySize) bytes")
    }

    static func result<Value>(of body: () throws -> Value) throws -> Result<Value, EntryError> {
        do {
            return .success(try body())
        } catch let error as EntryError {
            return .failure(error)
        }
    }

    static func tooDeep(_ limits: ManifestLimits) -> EntryError {
        EntryError(.tooDeep, "the entry nests deeper than \(limits.maximumDepth) levels")
    }
}
