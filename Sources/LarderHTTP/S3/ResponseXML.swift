import Foundation
import LarderXML

/// The XML of a server's answer, element by element.
enum ResponseXML {
    /// An answer that cannot be read.
    struct Malformed: Error {}

    /// More levels, longer texts or more names than any answer has.
    private static let rules = XMLRules(
        maximumTextBytes: 8 << 10, maximumDepth: 16, maximumSkippedBytes: 1 << 20,
        maximumNames: 128)

    /// The names that lead to an element, without the root's and without their prefixes.
    struct Path {
        /// Bytes, since comparing strings takes a time that grows with the square of their
        /// combining marks.
        fileprivate(set) var bytes: [UInt8] = []

        /// Whether the element is a child of the root.
        var isShort: Bool { !bytes.contains(ResponseXML.separator) }

        /// Whether it is these names, with slashes between them.
        func leads(to names: StaticString) -> Bool {
            bytes.count == names.utf8CodeUnitCount
                && memcmp(bytes, names.utf8Start, bytes.count) == 0
        }
    }

    private static let separator = UInt8(ascii: "/")

    /// Calls `body` at the end of each element but the root with its path and its own text.
    ///
    /// - Returns: the root's name.
    /// - Throws: ``Malformed``, what `body` throws, `CancellationError` if the task is cancelled.
    static func read(
        _ bytes: [UInt8], _ body: (_ path: Path, _ text: String) throws -> Void
    ) throws -> [UInt8] {
        var rest = bytes[...]
        do {
            let reader = try XMLReader(rules) { buffer in
                try Task.checkCancellation()
                let next = rest.prefix(buffer.count)
                buffer.copyBytes(from: next)
                rest = rest.dropFirst(next.count)
                return next.count
            }
            return try read(reader, body)
        } catch is XMLError {
            throw Malformed()
        }
    }

    private static func read(
        _ reader: XMLReader, _ body: (_ path: Path, _ text: String) throws -> Void
    ) throws -> [UInt8] {
        var path = Path()
        // Of the open elements: the length of the path before each of them, and its text.
        var open: [(start: Int, text: String)] = []
        var root: [UInt8]?
        func end() throws {
            let (start, text) = open.removeLast()
            if !open.isEmpty { try body(path, text) }
            path.bytes.removeSubrange(start...)
        }
        while true {
            switch try reader.advance() {
            case .start:
                let name = Array(reader.name.utf8)
                let colon = name.lastIndex(of: UInt8(ascii: ":"))
                let local = name[(colon.map { $0 + 1 } ?? 0)...]
                let start = path.bytes.count
                // The root is not in the path.
                if open.count > 1 { path.bytes.append(separator) }
                if open.isEmpty { root = Array(local) } else { path.bytes += local }
                open.append((start, ""))
                if reader.isEmpty { try end() }
            case .end: try end()
            case .text:
                guard let last = open.indices.last else { break }
                open[last].text += reader.text
                guard open[last].text.utf8.count <= rules.maximumTextBytes else {
                    throw Malformed()
                }
            case .finished:
                guard let root else { throw Malformed() }
                return root
            }
        }
    }
}

/// What a server says of an error.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
struct ErrorAnswer {
    /// Its name, such as `NoSuchKey`; empty if it has none.
    private(set) var code = ""
    private(set) var message = ""
    /// Where the bucket is, if that is the error.
    private(set) var region: String?

    /// From a body that may be anything.
    init(_ bytes: [UInt8]) {
        _ = try? ResponseXML.read(bytes) { path, text in
            if path.leads(to: "Code") {
                code = Self.bounded(text)
            } else if path.leads(to: "Message") {
                message = Self.bounded(text)
            } else if path.leads(to: "Region") {
                region = Self.bounded(text)
            }
        }
    }

    private static func bounded(_ text: String) -> String {
        String(decoding: text.utf8.prefix(300), as: UTF8.self)
    }
}

/// The answer to ListObjectsV2.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
struct ListAnswer {
    private(set) var objects: [ListedObject] = []
    private(set) var isTruncated = false

    /// - Throws: `ResponseXML.Malformed` if it is not a listing, `CancellationError`.
    init(_ bytes: [UInt8]) throws {
        var key: String?
        var size: Int64?
        var modified: Date?
        let root = try ResponseXML.read(bytes) { path, text in
            if path.leads(to: "Contents/Key") {
                key = text
            } else if path.leads(to: "Contents/Size") {
                size = Int64(text)
            } else if path.leads(to: "Contents/LastModified") {
                modified = Self.date(text)
            } else if path.leads(to: "Contents") {
                guard let key, let size, let modified, size >= 0 else {
                    throw ResponseXML.Malformed()
                }
                objects.append(ListedObject(key: key, size: size, modified: modified))
            } else if path.leads(to: "IsTruncated") {
                isTruncated = text.utf8.elementsEqual("true".utf8)
            }
            if path.isShort { (key, size, modified) = (nil, nil, nil) }
        }
        guard root.elementsEqual("ListBucketResult".utf8) else { throw ResponseXML.Malformed() }
    }

    private static let whole = Date.ISO8601FormatStyle()
    private static let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func date(_ text: String) -> Date? {
        try? (text.utf8.contains(UInt8(ascii: ".")) ? fractional : whole).parse(text)
    }
}

extension StorageError {
    /// What an answer that is an error means.
    init(_ answer: S3Exchange.Answer, subject: String) {
        let error = ErrorAnswer(answer.error)
        let status = answer.head.status
        let name = error.code.isEmpty ? "status \(status)" : error.code
        let words = error.message.isEmpty ? name : "\(name): \(error.message)"
        let region = (answer.head.headers[first: "x-amz-bucket-region"] ?? error.region).map {
            String(decoding: $0.utf8.prefix(64), as: UTF8.self)
        }
        let code = Self.code(of: status, named: error.code, hasRegion: region != nil)
        let message =
            if code == .wrongRegion {
                "the bucket is in another region\(region.map { ", '\($0)'" } ?? "") (\(words))"
            } else {
                words
            }
        // Foreign text: without control characters.
        self.init(code, subject: subject, TransferError(code: .other, message: message).message)
    }

    /// What a transfer that ended early means.
    ///
    /// - Parameter isAmazons: whether the server is Amazon's because no other was named.
    init(_ error: TransferError, subject: String, isAmazons: Bool) {
        let code: Code =
            switch error.code {
            case .tooLarge: .tooLarge
            case .certificate, .tls, .proxyRefused, .addressRefused, .invalidRequest, .outOfFiles,
                .abandoned, .other:
                .refused
            case .headersTooLarge, .malformedResponse: .malformed
            case .nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout, .stalled,
                .timeout, .bodyTruncated, .connectionLost, .cancelled:
                .unavailable
            }
        let isUnreachable = [
            .nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout,
        ].contains(error.code)
        let hint =
            isAmazons && isUnreachable
            ? "; the server is Amazon's unless --remote-endpoint names another" : ""
        self.init(code, subject: subject, error.message + hint, underlying: error)
    }

    private static func code(of status: Int, named name: String, hasRegion: Bool) -> Code {
        switch (status, name) {
        case (_, "NoSuchBucket"): .noBucket
        case (_, "QuotaExceeded"), (_, "InsufficientStorage"), (_, "XMinioStorageFull"), (507, _):
            .full
        // Amazon adds the right region if that is what is wrong with the field.
        case (_, "AuthorizationHeaderMalformed"): hasRegion ? .wrongRegion : .accessRefused
        case (_, "PermanentRedirect"), (_, "TemporaryRedirect"),
            (_, "IllegalLocationConstraintException"), (301, _), (307, _):
            .wrongRegion
        case (_, "ExpiredToken"), (_, "InvalidToken"), (_, "TokenRefreshRequired"): .accessRefused
        case (_, "BadDigest"), (_, "XAmzContentSHA256Mismatch"),
            (_, "XAmzContentChecksumMismatch"):
            .corrupt
        // A body that was cut on its way is no reason to give up.
        case (_, "RequestTimeout"), (_, "IncompleteBody"), (429, _): .unavailable
        // Archived: that object alone.
        case (_, "InvalidObjectState"): .refused
        // Somebody else writes the same object.
        case (_, "OperationAborted"), (_, "ConcurrentModification"): .unavailable
        case (501, _): .refused
        case (500..., _): .unavailable
        case (401, _), (403, _): .accessRefused
        case (404, _): .notFound
        default: .refused
        }
    }
}
