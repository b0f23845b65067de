import Foundation
import Testing

@testable import LarderHTTP

@Suite struct HeaderFieldsTests {
    let fields = HeaderFields(
        lines: Array("Set-Cookie: a=1\r\nETag:\"x y\" \t\r\nset-cookie:\tb=2\r\nX-Empty:\r\n".utf8))

    @Test func headerFieldNamesAreCaseInsensitive() {
        #expect(fields[first: "etag"] == "\"x y\"")
        #expect(fields[first: "ETAG"] == "\"x y\"")
        #expect(fields[first: "Set-Cookie"] == "a=1")
        #expect(fields[first: "X-Empty"] == "")
    }

    @Test func aPartOfAHeaderFieldNameDoesNotMatch() {
        #expect(fields[first: "ETa"] == nil)
        #expect(fields[first: "ETag2"] == nil)
        #expect(fields[first: ""] == nil)
    }

    @Test func repeatedHeaderFieldsKeepTheirOrder() {
        #expect(fields.all("SET-COOKIE") == ["a=1", "b=2"])
        #expect(fields.all("Missing").isEmpty)
    }

    @Test func wordsOfAListHaveNoWhiteSpaceAtTheirEnds() {
        let fields = HeaderFields(
            lines: Array("Content-Encoding: \tGZIP\r, identity ,\rbr\r\n".utf8))
        #expect(fields.contentCodings == ["gzip", "br"])
    }

    @Test func onlyHTTPDatesAreParsed() {
        let fields = HeaderFields(
            lines: Array("A: Sun, 06 Nov 1994 08:49:37 GMT\nB: when it was written\nC:\n".utf8))
        #expect(fields.date("a")?.timeIntervalSince1970 == 784_111_777)
        #expect(fields.date("B") == nil)
        #expect(fields.date("C") == nil)
        #expect(fields.date("D") == nil)
    }

    @Test func bytesOfAURLThatAreNotUTF8ArePercentEncoded() {
        let fields = HeaderFields(lines: Array("Location:  /caf".utf8) + [0xE9, 0x20, 0x0D, 0x0A])
        #expect(fields.url("location") == "/caf%E9")
        #expect(fields.url("Link") == nil)
        let utf8 = HeaderFields(lines: Array("Location: /café\n".utf8))
        #expect(utf8.url("Location") == "/café")
    }

    @Test func otherBytesThatAreNotUTF8AreReplaced() {
        let fields = HeaderFields(lines: Array("X: ".utf8) + [0xFC, 0x0A])
        #expect(fields[first: "x"] == "\u{FFFD}")
    }
}
