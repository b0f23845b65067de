import Testing

/// A page of a listing that a server could send.
struct Listing: CustomTestStringConvertible {
    var keys: [String] = []
    var isTruncated = false
    /// Text between the declaration and the root element.
    var prologue = ""
    var root = "ListBucketResult"
    var size = "7"
    var modified = "2026-11-25T02:17:07.708Z"
    /// Replaces the objects in the root element.
    var content: String?

    /// Without the content, which can have megabytes, because test logs contain arguments.
    var testDescription: String { "\(keys.prefix(3)) \(prologue.prefix(80)) \(root) \(size)" }

    var xml: String {
        let objects = keys.map { key in
            """
              <Contents>
                <Key>\(key)</Key><LastModified>\(modified)</LastModified>
                <ETag>&quot;c983190483df167d2a3841463c2a9341&quot;</ETag>
                <Owner><ID>x</ID></Owner><Size>\(size)</Size>
              </Contents>

            """
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>\(prologue)
            <\(root) xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
              <Name>bucket</Name><IsTruncated>\(isTruncated)</IsTruncated>
            \(content ?? objects.joined())</\(root)>
            """
    }
}
