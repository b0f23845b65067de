import Foundation

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
