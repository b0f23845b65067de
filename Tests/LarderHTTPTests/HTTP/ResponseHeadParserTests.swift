import Testing

@testable import LarderHTTP

@Suite struct ResponseHeadParserTests {
    /// Returns the last complete head, and the error at which parsing ended.
    private func parse(
        _ lines: [String], limit: Int = 1000, fields: Int = 10
    ) -> (ResponseHead?, TransferError?) {
        var parser = ResponseHeadParser(maximumBytes: limit, maximumFields: fields)
        var found: ResponseHead?
        for line in lines {
            do {
                found = try Array(line.utf8).withUnsafeBytes { try parser.add($0) } ?? found
            } catch {
                return (found, error as? TransferError)
            }
        }
        return (found, nil)
    }

    @Test func statusVersionAndFieldsAreParsed() throws {
        let (head, _) = parse(["HTTP/1.1 404 Not Found\r\n", "A: 1\r\n", "B: 2\r\n", "\r\n"])
        #expect(head?.status == 404)
        #expect(head?.protocolVersion == "1.1")
        #expect(head?.headers.description == "A: 1\r\nB: 2\r\n")
        #expect(parse(["HTTP/2 200 \r\n", "\r\n"]).0?.protocolVersion == "2")
        #expect(parse(["HTTP/1.0 200\r\n", "\r\n"]).0?.status == 200)
    }

    @Test(arguments: [
        (["Transfer-Encoding: chunked\r\n"], false),
        (["Transfer-Encoding: Chunked, identity\r\n"], false),
        (["Transfer-Encoding: gzip\r\n"], true), (["Transfer-Encoding: chunked,gzip\r\n"], true),
        (["Transfer-Encoding: chunked\r\n", "transfer-encoding: x-gzip\r\n"], true),
        (["Transfer-Encoding:\r\n", " deflate\r\n"], true), (["Transfer-Encoding: a\r\n"], true),
    ])
    func transferCodingsOtherThanChunkedAreRefused(_ fields: [String], isRefused: Bool) {
        for status in ["103", "200"] {
            let (head, error) = parse(["HTTP/1.1 \(status) A\r\n"] + fields + ["\r\n"])
            #expect(error?.code == (isRefused ? .malformedResponse : nil))
            #expect(error?.message.contains("transfer coding") ?? !isRefused)
            #expect((head == nil) == (isRefused || status == "103"))
        }
    }

    @Test func interimHeadsAreIgnored() {
        let (head, _) = parse([
            "HTTP/1.1 103 Early Hints\r\n", "Link: x\r\n", "\r\n", "HTTP/1.1 200 OK\r\n",
            "A: 1\r\n",
            "\r\n",
        ])
        #expect(head?.status == 200)
        #expect(head?.headers[first: "Link"] == nil)
        #expect(head?.headers[first: "A"] == "1")
    }

    @Test func continuedLinesAreJoined() {
        let (head, _) = parse(["HTTP/1.1 200 OK\r\n", "A: 1\r\n", "\t2\r\n", "B: 3\r\n", "\r\n"])
        #expect(head?.headers[first: "A"] == "1\t2")
        #expect(head?.headers[first: "B"] == "3")
    }

    @Test func trailersAreIgnored() {
        let (head, error) = parse(["HTTP/1.1 200 OK\r\n", "\r\n", "X: late\r\n", "\r\n"])
        #expect(head?.headers[first: "X"] == nil)
        #expect(error == nil)
    }

    @Test func theSizeLimitAppliesToAllHeadsAndTrailersTogether() {
        let lines = [
            "HTTP/1.1 100 Continue\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n", "T: x\r\n",
        ]
        let size = lines.reduce(0) { $0 + $1.utf8.count }
        #expect(parse(lines, limit: size).1 == nil)
        #expect(parse(lines, limit: size - 1).1?.code == .headersTooLarge)
    }

    @Test func theFieldLimitAppliesToAllHeadsAndTrailersTogether() {
        let lines = [
            "HTTP/1.1 103 Early Hints\r\n", "A: 1\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "B: 2\r\n",
            "C: 3\r\n", "\r\n", "T: x\r\n",
        ]
        #expect(parse(lines, fields: 4).1 == nil)
        #expect(parse(lines, fields: 3).1?.message.contains("more than 3 fields") == true)
        #expect(parse(lines, fields: 3).0?.status == 200)
    }

    @Test(arguments: ["HTTX/1.1 200 OK\r\n", "HTTP/1.1\r\n", "HTTP/1.1 20 OK\r\n", "\r\n"])
    func invalidStatusLinesAreRefused(_ line: String) {
        #expect(parse([line]).1?.code == .malformedResponse)
    }
}
