import Foundation

/// The answer to ListObjectsV2.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
struct ListAnswer {
    private(set) var objects: [ListedObject] = []
    private(set) var isTruncated = false

    /// - Throws: `ResponseXML.Malformed` if it is none.
    init(_ bytes: [UInt8]) throws {
        var key: String?
        var size: Int64?
        var modified: Date?
        let root = try ResponseXML.read(bytes) { path, text in
            switch Array(path) {
            case ["IsTruncated"]: isTruncated = text == "true"
            case ["Contents", "Key"]: key = text
            case ["Contents", "Size"]: size = Int64(text)
            case ["Contents", "LastModified"]: modified = Self.date(text)
            case ["Contents"]:
                guard let key, let size, let modified, size >= 0 else {
                    throw ResponseXML.Malformed()
                }
                objects.append(ListedObject(key: key, size: size, modified: modified))
            default: break
            }
            if path.count == 1 { (key, size, modified) = (nil, nil, nil) }
        }
        guard root == "ListBucketResult" else { throw ResponseXML.Malformed() }
    }

    private static let whole = Date.ISO8601FormatStyle()
    private static let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func date(_ text: String) -> Date? {
        try? (text.contains(".") ? fractional : whole).parse(text)
    }
}
