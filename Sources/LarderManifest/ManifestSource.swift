import Foundation
import LarderCore

/// Where a manifest's bytes come from.
public enum ManifestSource: Sendable {
    /// A file, a named pipe or a device.
    case file(String)
    /// Standard input, from where it stands.
    case standardInput
    /// An open descriptor, read from where it stands; closing it stays the caller's business.
    case descriptor(Int32, name: String)
    /// Bytes in memory.
    case bytes([UInt8], name: String)
    /// An http or https URL, and how its bytes are obtained.
    ///
    /// - Parameter open: Default: nil. The manifest can then be read by a run, which downloads it,
    ///   and by what reads a cache.
    case url(HTTPURL, open: Opener? = nil)

    /// Obtains the bytes of a manifest at a URL.
    public typealias Opener = @Sendable (HTTPURL) throws -> OpenedManifest

    /// What messages and reports call the source; `-` for standard input.
    public var name: String {
        switch self {
        case .file(let path): path
        case .standardInput: "-"
        case .descriptor(_, let name), .bytes(_, let name): name
        case .url(let url, _): "\(url)"
        }
    }

    /// Whether it gives the same again when it is opened a second time. A path may be a pipe's.
    package var canBeReadAgain: Bool {
        switch self {
        case .file(let path):
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        case .bytes, .url: return true
        case .standardInput, .descriptor: return false
        }
    }

    /// Whether it can be opened again, and costs nothing but the reading.
    var isOnDisk: Bool {
        if case .url = self { return false }
        return canBeReadAgain
    }

    /// Returns the same source, in which a manifest at a URL is opened by `open`.
    public func opened(by open: @escaping Opener) -> ManifestSource {
        guard case .url(let url, _) = self else { return self }
        return .url(url, open: open)
    }

    /// Returns the same source, in which a manifest at a URL is not downloaded: a cache has it from
    /// the last prefetch, or it is missing.
    ///
    /// - Parameter find: Opens the manifest that the cache has; nil if it has none.
    public func cached(
        _ find: @escaping @Sendable (HTTPURL) throws -> (descriptor: Int32, baseURL: HTTPURL)?
    ) -> ManifestSource {
        opened { url in
            guard let file = try find(url) else { throw ManifestError.notCached(url) }
            return OpenedManifest(descriptor: file.descriptor, baseURL: file.baseURL)
        }
    }

    /// Throws ``ManifestError`` with the code `missing`, `unreadable`, or `tooLarge`; of one at a
    /// URL `CacheError` and `CancellationError`, too.
    func open() throws -> ByteInput {
        switch self {
        case .file(let path):
            // The string would end at a NUL for the system, and another file be read.
            guard !path.utf8.contains(0) else {
                throw ManifestError.system(EINVAL, "cannot open", source: name)
            }
            let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw ManifestError.system(errno, "cannot open", source: name)
            }
            return ByteInput(descriptor: descriptor, isOwned: true, name: name)
        case .standardInput:
            return ByteInput(descriptor: STDIN_FILENO, isOwned: false, name: name)
        case .descriptor(let descriptor, _):
            return ByteInput(descriptor: descriptor, isOwned: false, name: name)
        case .bytes(let bytes, _):
            return ByteInput(bytes: bytes, name: name)
        case .url(let url, let open):
            guard let open else {
                throw ManifestError(
                    .unreadable, source: name, "is at a URL, which is not asked here")
            }
            let opened = try open(url)
            let input = ByteInput(
                descriptor: opened.descriptor, isOwned: true, name: name, baseURL: opened.baseURL)
            input.whenRead = opened.whenRead
            return input
        }
    }
}

/// The bytes of a manifest at a URL.
public struct OpenedManifest {
    /// A file, from its beginning. The reader closes it.
    public let descriptor: Int32
    /// Where redirects have led: what relative URLs in the manifest are resolved against.
    public let baseURL: HTTPURL
    /// Called when all of it was read as a manifest, with whether its URLs have credentials.
    /// Default: nil.
    public var whenRead: ((_ hasCredentials: Bool) throws -> Void)?

    /// Describes an open file.
    public init(descriptor: Int32, baseURL: HTTPURL) {
        self.descriptor = descriptor
        self.baseURL = baseURL
    }
}

extension ManifestError {
    /// The error of a manifest that is looked up in a cache and is not there.
    package static func notCached(_ url: HTTPURL) -> ManifestError {
        ManifestError(
            .missing, source: "\(url)",
            "is not in the cache, or not whole: a prefetch that may ask its server gets it,"
                + " larder verify --repair mends it")
    }
}

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
        /// The document type has declarations of its own, such as of entities, which are never
        /// read.
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

    /// Source, place and reason, as in `apps.jsonl: line 17: unexpected ','`; safe to print.
    public var description: String {
        let parts = [source.sanitizedForTerminal, place?.description, reason]
        return parts.compactMap(\.self).joined(separator: ": ")
    }

    /// The same with where icons may be instead of the advice to name the places.
    func suggesting(_ suggestions: [ManifestSuggestion]) -> ManifestError {
        guard let words = ManifestSuggestion.words(suggestions) else { return self }
        let advice = ": \(ShapeRecognition.advice)"
        let isAdvice = reason.utf8.suffix(advice.utf8.count).elementsEqual(advice.utf8)
        let reason =
            isAdvice ? String(Substring(reason.utf8.dropLast(advice.utf8.count))) : reason
        return ManifestError(
            code, source: source, at: place, "\(reason); \(words)", errorNumber: errorNumber)
    }

    /// A call of the system has failed with `number`.
    package static func system(_ number: Int32, _ doing: String, source: String) -> ManifestError {
        let isMissing = number == ENOENT || number == ENOTDIR
        let words = String(cString: strerror(number))
        return ManifestError(
            isMissing ? .missing : .unreadable, source: source, "\(doing): \(words)",
            errorNumber: number)
    }
}
