import Foundation
import LarderTestSupport
import Testing

@Suite struct StaticFilesTests {
    @Test func staticFilesHaveTheirContentTypes() throws {
        try withFiles { origin in
            let png = try origin.response(to: "/icons/a%20b/one.PNG")
            #expect(png.contains("\r\nContent-Type: image/png\r\n"))
            #expect(png.hasSuffix("\r\n\r\npicture"))
            let other = try origin.response(to: "/icons/two")
            #expect(other.contains("application/octet-stream"))
        }
    }

    @Test(arguments: [
        "/icons/", "/icons/a%20b", "/icons/none", "/icons/../secret", "/icons/%2e%2e/secret",
        "/icons/a%20b/..%2f..%2fsecret", "/icons//two", "/icons/./two", "/icons/two%00",
        "/icons/%zz", "/iconstwo", "/secret",
    ])
    func pathsThatNameNoServedFileAreNotFound(_ path: String) throws {
        try withFiles { origin in
            let response = try origin.response(to: path)
            #expect(response.hasPrefix("HTTP/1.1 404"))
        }
    }

    @Test func conditionalRequestsForUnchangedFilesGet304() throws {
        try withFiles { origin in
            let head = try origin.response(to: "/icons/two", method: "HEAD")
            let tag = try #require(head.firstMatch(of: /ETag: (".*")\r\n/)?.output.1)
            let date = try #require(head.firstMatch(of: /Last-Modified: (.*)\r\n/)?.output.1)
            func status(_ headers: String) throws -> Substring {
                try origin.response(to: "/icons/two", headers).dropFirst(9).prefix(3)
            }
            let old = "Sun, 06 Nov 1994 08:49:37 GMT"
            #expect(try status("If-None-Match: \(tag)") == "304")
            #expect(try status("If-None-Match: \"x\", W/\(tag)") == "304")
            #expect(try status("If-None-Match: *") == "304")
            #expect(try status("If-None-Match: \"x\"") == "200")
            #expect(try status("If-Modified-Since: \(date)") == "304")
            #expect(try status("If-Modified-Since: \(old)") == "200")
            #expect(try status("If-None-Match: \"x\"\r\nIf-Modified-Since: \(date)") == "200")
        }
    }

    private func withFiles(_ body: (Origin) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory.path("icons/a b"), withIntermediateDirectories: true)
            for name in ["icons/a b/one.PNG", "icons/two", "secret"] {
                try Data("picture".utf8).write(to: directory.url.appendingPathComponent(name))
            }
            let origin = try Origin()
            origin.serve(directory: directory.path("icons"), at: "/icons")
            try body(origin)
        }
    }
}
