/// A bucket, and what the names of our objects there begin with: `s3://bucket/prefix`.
public struct S3Location: Hashable, Sendable, CustomStringConvertible {
    /// The bucket's name.
    public let bucket: String
    /// Empty, or ends with a slash.
    public let prefix: String

    /// Why a text is no location.
    public struct ParseError: Error, Sendable, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    /// Parses `s3://bucket` or `s3://bucket/prefix`.
    ///
    /// A bucket's name has 3 to 63 of `a-z`, `0-9`, `.` and `-`. A prefix has letters, digits and
    /// `-._~` between its slashes: every S3 store and its signature agree on how those are spelled
    /// (RFC 3986, section 2.3).
    public init(_ text: String) throws(ParseError) {
        guard text.utf8.starts(with: "s3://".utf8) else {
            throw ParseError(description: "expected s3://BUCKET/PREFIX")
        }
        let parts = text.dropFirst(5).split(separator: "/", omittingEmptySubsequences: false)
        bucket = parts.first.map(String.init) ?? ""
        guard Self.isBucketName(bucket) else {
            throw ParseError(
                description: "expected a bucket's name, 3 to 63 of a-z, 0-9, '.' and '-'")
        }
        var segments = parts.dropFirst()
        if segments.last?.isEmpty == true { segments.removeLast() }
        guard segments.allSatisfy(Self.isSegment), text.utf8.count <= 512 else {
            throw ParseError(
                description: "expected a prefix of letters, digits, '-', '.', '_' and '~' "
                    + "between single slashes, of at most 512 bytes")
        }
        prefix = segments.map { $0 + "/" }.joined()
    }

    /// As it is written, without a slash at the end.
    public var description: String { "s3://\(bucket)/\(prefix)".droppingLastSlash }

    private static func isBucketName(_ name: String) -> Bool {
        (3...63).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
            && name.utf8.first != UInt8(ascii: ".") && name.utf8.last != UInt8(ascii: ".")
            && !name.contains("..")
    }

    private static func isSegment(_ segment: Substring) -> Bool {
        !segment.isEmpty && segment != "." && segment != ".."
            && segment.utf8.allSatisfy(\.isUnreserved)
    }
}

extension String {
    fileprivate var droppingLastSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}

extension UInt8 {
    /// RFC 3986, section 2.3.
    var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
