import Foundation

/// An entry of a sample manifest.
struct SampleApp {
    enum Value {
        case text(String)
        case number(Int)
    }

    /// The keys and values in the order in which to write them.
    let fields: [(key: String, value: Value)]

    /// Creates a valid entry in the form that tutorials use.
    init(_ name: String, _ icon: String, host: String = "127.0.0.1", download: String) {
        fields = [
            ("name", .text(name)), ("icon", .text(SampleManifests.url(icon, host: host))),
            ("download", .text(download)),
        ]
    }

    init(fields: [(key: String, value: Value)]) { self.fields = fields }

    func with(_ key: String, _ value: Value) -> SampleApp {
        SampleApp(fields: fields + [(key, value)])
    }

    func priority(_ name: String) -> SampleApp { with("priority", .text(name)) }
    func priority(_ number: Int) -> SampleApp { with("priority", .number(number)) }

    /// Adds the digest in the format of Subresource Integrity, and the size.
    func integrity(of bytes: [UInt8]) -> SampleApp {
        let digest = Data(ReferenceSHA256.digest(bytes)).base64EncodedString()
        return with("integrity", .text("sha256-\(digest)")).with("size", .number(bytes.count))
    }

    /// Adds the digest in hexadecimal.
    func sha256(of bytes: [UInt8]) -> SampleApp {
        with("sha256", .text(ReferenceSHA256.hex(bytes)))
    }
}
