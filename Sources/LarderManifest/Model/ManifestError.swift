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
