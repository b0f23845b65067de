import Foundation
import LarderCache
import LarderCore
import LarderHTTP

/// The continuation of an interrupted body (RFC 9110, sections 13.1.5 and 14). Needs an unencoded
/// body, a strong validator, range support, and a 206 response with only the missing bytes.
enum Resumption {
    static func headers(for partial: PartialTrailer) -> FieldList {
        [
            ("Range", "bytes=\(partial.count)-"), ("If-Range", partial.validator),
            // An encoded body would have different offsets.
            ("Accept-Encoding", "identity"),
        ]
    }

    /// Whether a 200 response has only the missing bytes, contrary to RFC 9110, section 15.3.1.
    static func isSlice(_ head: ResponseHead, insteadOf partial: PartialTrailer) -> Bool {
        if head.headers[first: "Content-Range"] != nil {
            return !(ByteRange(head.headers)?.isWhole ?? false)
        }
        guard let total = partial.totalBytes, let length = totalBytes(head) else { return false }
        return partial.count > 0 && total > partial.count && length == total - partial.count
    }

    static func isRest(of partial: PartialTrailer, _ head: ResponseHead) -> Bool {
        let length = head.headers[first: "Content-Length"].flatMap { Int64($0) }
        guard head.status == 206, head.headers.contentCodings.isEmpty,
            let range = ByteRange(head.headers), range.first == partial.count,
            let total = range.total, partial.totalBytes == nil || partial.totalBytes == total,
            length == nil || length == range.last - range.first + 1
        else { return false }
        // A response to If-Range need not repeat a date (RFC 9110, section 15.3.7).
        return isDate(partial.validator)
            ? head.headers[first: "Last-Modified"]?.isSame(as: partial.validator) ?? true
            : head.headers[first: "ETag"]?.isSame(as: partial.validator) ?? false
    }

    static func validator(of head: ResponseHead, _ fields: Validators) -> String? {
        let units = head.headers.words(of: "Accept-Ranges")
        guard head.headers.contentCodings.isEmpty,
            head.status == 206 || units.contains(where: { $0.isSame(as: "bytes") })
        else { return nil }
        if let tag = fields.etag { return isDate(tag) ? nil : tag }
        // A date is a strong validator only if the resource cannot have changed twice within a
        // second (RFC 9110, section 8.8.2.2). A minute allows for different clocks.
        guard let modified = fields.lastModified, let instant = HTTPDate.parse(modified),
            let date = fields.date.flatMap({ HTTPDate.parse($0) }),
            date.timeIntervalSince(instant) >= 60
        else { return nil }
        return modified
    }

    static func totalBytes(_ head: ResponseHead) -> Int64? {
        if head.status == 206 { return ByteRange(head.headers)?.total }
        return head.headers[first: "Content-Length"].flatMap { Int64($0) }
    }

    /// Returns an error if a 206 response and the bytes before it are not the whole body.
    static func failure(of head: ResponseHead, receivedBytes: Int64) -> ResourceFailure? {
        // Encoded bodies are not compared, because their range counts encoded bytes.
        guard head.status == 206, head.headers.contentCodings.isEmpty,
            let total = totalBytes(head), receivedBytes != total
        else { return nil }
        let message = "received \(receivedBytes) of \(total) bytes"
        return receivedBytes < total
            ? ResourceFailure(TransferError(.bodyTruncated, message))
            : ResourceFailure(.range, message)
    }

    private static func isDate(_ validator: String) -> Bool {
        validator.utf8.first != UInt8(ascii: "\"")
    }
}

/// The range of a 206 response (RFC 9110, section 14.4): `Content-Range: bytes 100-199/200`.
struct ByteRange: Equatable {
    let first: Int64
    let last: Int64
    let total: Int64?
    var isWhole: Bool { total.map { first == 0 && last == $0 - 1 } ?? false }

    init?(_ headers: HeaderFields) {
        guard let field = headers[first: "Content-Range"] else { return nil }
        let words = field.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard words.count == 2, words[0].isWord("bytes") else { return nil }
        let halves = words[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let ends = halves[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]),
            first <= last
        else { return nil }
        let total = Self.number(halves[1])
        guard halves[1].isWord("*") || (total.map { last < $0 } ?? false) else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }

    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        digits.allSatisfy(\.isDigit) ? Int64(Substring(digits)) : nil
    }
}
