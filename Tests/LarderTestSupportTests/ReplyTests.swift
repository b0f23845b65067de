import Foundation
import Testing

@testable import LarderTestSupport

@Suite struct ReplyTests {
    private let letters = "abcdefghij"

    /// Returns the bytes of a reply, without its `Date`.
    private func wire(_ reply: Reply, method: String = "GET") throws -> String {
        let origin = try Origin(replies: ["/": reply.withoutDate()])
        let client = try Client(origin)
        client.send("/", method: method, "X: 1")
        return client.rest()
    }

    @Test func repliesUseTheRequestedFraming() throws {
        let text = Reply.ok(letters, type: "t")
        let start = "HTTP/1.1 200 OK\r\nContent-Type: t\r\n"
        #expect(
            try wire(text.closing())
                == "\(start)Content-Length: 10\r\nConnection: close\r\n\r\nabcdefghij")
        #expect(try wire(text.withoutLength()) == "\(start)Connection: close\r\n\r\nabcdefghij")
        #expect(
            try wire(text.chunked([1, 3]).closing())
                == "\(start)Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                + "1\r\na\r\n3\r\nbcd\r\n6\r\nefghij\r\n0\r\n\r\n")
        #expect(
            try wire(Reply.ok("").chunked().closing()).hasSuffix("close\r\n\r\n0\r\n\r\n"))
        #expect(
            try wire(text.trickled(4, every: 0.001).chunked().closing())
                .hasSuffix("\r\n\r\n4\r\nabcd\r\n4\r\nefgh\r\n2\r\nij\r\n0\r\n\r\n"))
    }

    @Test func repliesCanAnnounceAWrongLength() throws {
        let text = Reply.ok(letters, type: "t")
        let start = "HTTP/1.1 200 OK\r\nContent-Type: t\r\nContent-Length:"
        let close = "Connection: close\r\n\r\nabcdefghij"
        #expect(try wire(text.announcing(length: 3)) == "\(start) 3\r\n\(close)")
        #expect(
            try wire(text.announcing(length: 10_000_000_000))
                == "\(start) 10000000000\r\n\(close)")
    }

    @Test func repliesCanBeCutShort() throws {
        let text = Reply.ok(letters, type: "t")
        let start = "HTTP/1.1 200 OK\r\nContent-Type: t\r\n"
        #expect(try wire(text.cut(after: 4)) == "\(start)Content-Length: 10\r\n\r\nabcd")
        #expect(try wire(text.cut(after: 0)) == "\(start)Content-Length: 10\r\n\r\n")
        #expect(try wire(text.cut(after: 99)).hasSuffix("\r\n\r\nabcdefghij"))
        #expect(
            try wire(text.chunked([3]).cut(after: 5))
                == "\(start)Transfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n7\r\nde")
    }

    @Test func chunkedAndEndlessRepliesCanBeCutInsideAPiece() throws {
        let pieces = try wire(Reply.ok(letters).chunked([3, 3]).cut(after: 2))
        #expect(pieces.hasSuffix("\r\n\r\n3\r\nab"))
        #expect(
            try wire(Reply.endless(letters.utf8).cut(after: 15)).hasSuffix(
                "\r\n\r\n\(letters)abcde"))
    }

    @Test func repliesCanResetTheConnection() throws {
        let origin = try Origin(replies: ["/": Reply.ok(letters).reset(after: 2)])
        let client = try Client(origin)
        client.send("/")
        #expect(client.rest().hasSuffix("\r\n\r\nab"))
        #expect(client.wasReset)
        let other = try Client(origin)
        other.send("/", method: "HEAD", "Connection: close")
        _ = other.rest()
        #expect(!other.wasReset)
    }

    @Test func stalledRepliesWaitUntilThePeerLeaves() async throws {
        let origin = try Origin(replies: ["/": Reply.ok(letters).stalling(after: 2)])
        do {
            let client = try Client(origin)
            client.send("/")
            #expect(client.head().contains("Content-Length: 10"))
            #expect(client.next(2) == "ab")
        }
        origin.stop()
        #expect(origin.count() == 1)
    }

    @Test func endlessRepliesRepeatTheirBody() throws {
        let origin = try Origin(replies: ["/": .endless(letters.utf8)])
        let client = try Client(origin)
        client.send("/")
        #expect(!client.head().contains("Content-Length"))
        #expect(client.next(100_000) == String(repeating: letters, count: 10_000))
    }

    @Test func notModifiedNoContentAndHeadRepliesHaveNoBody() throws {
        #expect(
            try wire(Reply.notModified.header("ETag", "\"1\"").closing())
                == "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nConnection: close\r\n\r\n")
        #expect(try wire(Reply.status(204).closing()).hasSuffix("\r\n\r\n"))
        #expect(
            try wire(Reply.ok(letters).closing(), method: "HEAD")
                .hasSuffix("Content-Length: 10\r\nConnection: close\r\n\r\n"))
    }

    @Test func repliesSendRawBytesAndCustomHeaders() throws {
        #expect(try wire(.raw("SSH-2.0\r\n")) == "SSH-2.0\r\n")
        let redirect = try wire(.redirect(to: "/b", status: 308).closing())
        #expect(redirect.hasPrefix("HTTP/1.1 308 Permanent Redirect\r\n"))
        #expect(redirect.contains("\r\nLocation: /b\r\n"))
        let huge = try wire(Reply.ok("").hugeHeaders(count: 3, bytes: 1000).closing())
        #expect(huge.contains("\r\nX-Huge-2: \(String(repeating: "x", count: 1000))\r\n"))
        #expect(
            try wire(Reply.ok(letters).header("Content-Length", "x").closing())
                .components(separatedBy: "Content-Length").count == 2)
    }

    @Test func repliesHaveADateHeader() throws {
        let origin = try Origin(replies: ["/": .ok(""), "/old": Reply.ok("").header("Date", "old")])
        let before = Date().addingTimeInterval(-1)
        let line = try origin.response(to: "/").components(separatedBy: "\r\n")
            .first { $0.hasPrefix("Date: ") }
        let date = try #require(line.flatMap { HTTPDate.date(from: String($0.dropFirst(6))) })
        #expect(date > before && date <= Date())
        #expect(try origin.response(to: "/old").components(separatedBy: "Date:").count == 2)
        let classic = Date(timeIntervalSince1970: 784_111_777.9)
        #expect(HTTPDate.string(from: classic) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.date(from: "Sunday, 06-Nov-94 08:49:37 GMT") == nil)
    }

    @Test func repliesCanWaitForADelayOrAGate() async throws {
        let gate = try Gate()
        let origin = try Origin(replies: ["/late": Reply.ok("").delayed(0.05)])
        origin.on("/held", Reply.ok("open").heldBy(gate))
        let start = ContinuousClock.now
        _ = try origin.response(to: "/late")
        #expect(start.duration(to: .now) >= .milliseconds(50))

        let client = try Client(origin)
        client.send("/held", "Connection: close")
        try await origin.waitForRequests(1, to: "/held")
        gate.open()
        #expect(client.rest().hasSuffix("open"))
        gate.wait()
    }
}
