/// The head of a response.
package struct ResponseHead {
    let lines: [String]
    package let status: Int
    let fields: [(name: String, value: String)]

    /// Parses the lines of a head; nil if they are not a response.
    init?(_ lines: [String]) {
        guard let words = lines.first?.split(separator: " "), words.count > 1,
            words[0].hasPrefix("HTTP/1."), let status = Int(words[1])
        else { return nil }
        (self.lines, self.status) = (lines, status)
        fields = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " || $0 == "\t" }
            return (line[..<colon].lowercased(), String(value))
        }
    }

    /// Whether the final response follows.
    var isInterim: Bool { (100..<200).contains(status) }

    var isChunked: Bool { field("transfer-encoding") == "chunked" }

    /// The length of the body; nil if it is chunked or ends with the connection.
    var length: Int? {
        status == 204 || status == 304 ? 0 : field("content-length").flatMap { Int($0) }
    }

    /// Whether the connection stays open after the response.
    var keepsConnection: Bool {
        lines[0].hasPrefix("HTTP/1.1") && field("connection")?.lowercased() != "close"
            && (isChunked || length != nil || isInterim)
    }

    private func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}
