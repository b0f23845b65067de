import Foundation
import LarderCore
import LarderXML

enum ResponseXML {
    struct ParseError: Error {}

    private static let rules: XMLRules = {
        var rules = XMLRules(maximumTextBytes: 8 << 10)
        rules.maximumDepth = 16
        rules.maximumSkippedBytes = 1 << 20
        rules.maximumNames = 128
        return rules
    }()

    static let separator = UInt8(ascii: "/")

    /// Calls `body` at the end of each element except the root. Paths exclude the root and
    /// namespace prefixes. Returns the root's name.
    static func read(
        _ bytes: [UInt8], _ body: (_ path: [UInt8], _ text: String) throws -> Void
    ) throws -> [UInt8] {
        var rest = bytes[...]
        var path: [UInt8] = []
        // `start` is the length of the parent's path.
        var open: [(start: Int, text: String)] = []
        var root: [UInt8]?
        func end() throws {
            let (start, text) = open.removeLast()
            if !open.isEmpty { try body(path, text) }
            path.removeSubrange(start...)
        }
        do {
            let reader = try XMLReader(rules) { buffer in
                try Task.checkCancellation()
                let next = rest.prefix(buffer.count)
                buffer.copyBytes(from: next)
                rest = rest.dropFirst(next.count)
                return next.count
            }
            while true {
                switch try reader.advance() {
                case .start:
                    let name = Array(reader.name.utf8)
                    let colon = name.lastIndex(of: UInt8(ascii: ":"))
                    let local = name[(colon.map { $0 + 1 } ?? 0)...]
                    let start = path.count
                    if open.count > 1 { path.append(separator) }
                    if open.isEmpty { root = Array(local) } else { path += local }
                    open.append((start, ""))
                    if reader.isEmpty { try end() }
                case .end: try end()
                case .text:
                    guard let last = open.indices.last else { break }
                    open[last].text += reader.text
                    guard open[last].text.utf8.count <= rules.maximumTextBytes else {
                        throw ParseError()
                    }
                case .finished:
                    guard let root else { throw ParseError() }
                    return root
                }
            }
        } catch is XMLError {
            throw ParseError()
        }
    }
}

/// A response to ListObjectsV2.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
struct ListAnswer {
    private(set) var objects: [ListedObject] = []
    private(set) var isTruncated = false

    init(_ bytes: [UInt8]) throws {
        var (key, size, modified): (String?, Int64?, Date?) = (nil, nil, nil)
        let root = try ResponseXML.read(bytes) { path, text in
            if path.elementsEqual("Contents/Key".utf8) {
                key = text
            } else if path.elementsEqual("Contents/Size".utf8) {
                size = Int64(text)
            } else if path.elementsEqual("Contents/LastModified".utf8) {
                modified = Self.date(text)
            } else if path.elementsEqual("Contents".utf8) {
                guard let key, let size, let modified, size >= 0 else {
                    throw ResponseXML.ParseError()
                }
                objects.append(ListedObject(key: key, size: size, modified: modified))
            } else if path.elementsEqual("IsTruncated".utf8) {
                isTruncated = text.utf8.elementsEqual("true".utf8)
            }
            if !path.contains(ResponseXML.separator) { (key, size, modified) = (nil, nil, nil) }
        }
        guard root.elementsEqual("ListBucketResult".utf8) else { throw ResponseXML.ParseError() }
    }

    private static func date(_ text: String) -> Date? {
        let hasFraction = text.utf8.contains(UInt8(ascii: "."))
        return try? Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction).parse(text)
    }
}

extension RemoteError {
    /// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
    init(_ head: ResponseHead, body: [UInt8], subject: String) {
        var texts: [[UInt8]: String] = [:]
        _ = try? ResponseXML.read(body) { path, text in
            texts[path] = String(decoding: text.utf8.prefix(300), as: UTF8.self)
        }
        func text(_ name: String) -> String? { texts[Array(name.utf8)] }
        let (name, reason, status) = (text("Code") ?? "", text("Message") ?? "", head.status)
        let shown = name.isEmpty ? "status \(status)" : name
        let words = reason.isEmpty ? shown : "\(shown): \(reason)"
        let region = (head.headers[first: "x-amz-bucket-region"] ?? text("Region")).map {
            String(decoding: $0.utf8.prefix(64), as: UTF8.self)
        }
        let code = Self.code(of: status, named: name, hasRegion: region != nil)
        let place = region.map { ", '\($0)'" } ?? ""
        let message =
            code == .wrongRegion ? "the bucket is in another region\(place) (\(words))" : words
        // TransferError replaces control characters, because the text comes from the server.
        self.init(code, subject: subject, TransferError(.other, message).message)
        retryAfter = RetryAfter.delay(of: head).map { min($0, .seconds(60)) }
    }

    init(_ error: TransferError, subject: String, isAmazons: Bool) {
        let code: Code =
            switch error.code {
            case .tooLarge: .tooLarge
            case .headersTooLarge, .malformedResponse: .malformed
            case .cancelled: .unavailable
            case let code: code.isTransient ? .unavailable : .refused
            }
        let hint =
            isAmazons && error.code.isUnreachable
            ? "; use --remote-endpoint if the server is not Amazon's" : ""
        self.init(code, subject: subject, error.message + hint)
        underlying = error
    }

    private static func code(of status: Int, named name: String, hasRegion: Bool) -> Code {
        switch (status, name) {
        case (_, "NoSuchBucket"): .noBucket
        case (_, "QuotaExceeded"), (_, "InsufficientStorage"), (_, "XMinioStorageFull"), (507, _):
            .full
        // Amazon names the bucket's region if the signature is for a different region.
        case (_, "AuthorizationHeaderMalformed"): hasRegion ? .wrongRegion : .accessRefused
        case (_, "PermanentRedirect"), (_, "TemporaryRedirect"),
            (_, "IllegalLocationConstraintException"), (301, _), (307, _):
            .wrongRegion
        case (_, "ExpiredToken"), (_, "InvalidToken"), (_, "TokenRefreshRequired"): .accessRefused
        case (_, "BadDigest"), (_, "XAmzContentSHA256Mismatch"),
            (_, "XAmzContentChecksumMismatch"):
            .corrupt
        // Truncated uploads and conflicting writes can be repeated.
        case (_, "RequestTimeout"), (_, "IncompleteBody"), (429, _), (_, "OperationAborted"),
            (_, "ConcurrentModification"):
            .unavailable
        // The object is archived.
        case (_, "InvalidObjectState"), (501, _): .refused
        case (500..., _): .unavailable
        case (401, _), (403, _): .accessRefused
        case (404, _): .notFound
        default: .refused
        }
    }
}
