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
