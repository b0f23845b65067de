/// The reasons that go with statuses (RFC 9110, section 15).
enum StatusLine {
    private static let reasons: [Int: String] = [
        200: "OK", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request",
        403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable",
        421: "Misdirected Request", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
        505: "HTTP Version Not Supported",
    ]

    private static let ok = Array("HTTP/1.1 200 OK\r\n".utf8)

    /// The first line of a response, with its end.
    static func bytes(_ status: Int) -> [UInt8] {
        status == 200 ? ok : Array("HTTP/1.1 \(status) \(reasons[status] ?? "Error")\r\n".utf8)
    }
}
