import Foundation
import LarderTestSupport
import Testing

/// The contents of the list that `larder serve --missing-list` writes.
@Suite struct MissingListTests {
    /// A page of another site can make a browser request any URL from the server. Requests to a
    /// mirror are intended, so they are listed.
    @Test func requestsFromPagesOfOtherSitesAreNotListed() async throws {
        try await withServe(["--mirror"]) { serve, list in
            let client = try serve.client()
            let foreign = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image"]
            #expect(try client.get("/icon?url=http://a.example/1", foreign).status == 404)
            #expect(try client.get("http://a.example/2", foreign).status == 404)
            let own = ["Sec-Fetch-Site: same-origin"]
            #expect(try client.get("/icon?url=http://a.example/3", own).status == 404)
            #expect(try serve.stop().status == 0)
            #expect(try Self.urls(list) == ["http://a.example/2", "http://a.example/3"])
        }
    }

    @Test func theOldestMissingIconsMakeRoomForNewOnes() async throws {
        let old = (1...10_000).map { "http://a.example/\($0)" }
        try await withServe(list: old) { serve, list in
            let client = try serve.client()
            for number in [1, 10_001, 3, 10_002] {
                let url = "http://a.example/\(number)"
                #expect(try client.get("/icon?url=\(url)").status == 404)
            }
            let finished = try serve.stop()
            #expect(finished.status == 0 && finished.standardError.contains("finishing"))
            #expect(!finished.standardError.contains("full"), "\(finished)")
            let dropped = ["http://a.example/2", "http://a.example/4"]
            #expect(
                try Self.urls(list)
                    == old.filter { !dropped.contains($0) } + [
                        "http://a.example/10001", "http://a.example/10002",
                    ])
        }
    }

    @Test func aFullMissingListIsReportedOnce() async throws {
        try await withServe { serve, list in
            let client = try serve.client()
            // Two more URLs than fit in 2 MiB.
            let path = String(repeating: "a", count: 8_000)
            let count = (2 << 20) / ("http://a.example/000".utf8.count + path.utf8.count)
            let urls = (0..<count + 2).map { "http://a.example/\(100 + $0)\(path)" }
            for url in urls { #expect(try client.get("/icon?url=\(url)").status == 404) }
            let finished = try serve.stop()
            let messages = finished.standardError.split(separator: "\n").filter {
                $0.contains("the list of missing icons is full")
            }
            #expect(finished.status == 0 && messages.count == 1, "\(finished.standardError)")
            #expect(try Self.urls(list) == Array(urls.dropLast(2)))
        }
    }

    /// The exit status shows that a prefetch of the list would fail.
    @Test func aMissingListThatCannotBeWrittenIsAnError() async throws {
        try await withServe { serve, list in
            #expect(try serve.client().get("/icon?url=http://a.example/1").status == 404)
            try FileManager.default.removeItem(
                at: URL(fileURLWithPath: list).deletingLastPathComponent())
            let finished = try serve.stop()
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains("the list of missing icons:"), "\(finished)")
        }
    }

    // MARK: -

    /// Runs `body` with a server that writes its list in a separate directory.
    private func withServe(
        _ options: [String] = [], list urls: [String]? = nil,
        _ body: @escaping @Sendable (ServeRun, String) throws -> Void
    ) async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let folder = larder.directory.path("lists")
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            if let urls {
                let entries = urls.map { #"{"icon":"\#($0)"}"# }
                _ = try larder.write(
                    "[\n\(entries.joined(separator: ",\n"))\n]\n".utf8, to: "lists/missing.json")
            }
            let list = folder + "/missing.json"
            try await onThreadOfItsOwn {
                try body(ServeRun(larder, options + ["--missing-list", list]), list)
            }
        }
    }

    private static func urls(_ list: String) throws -> [String] {
        let entries = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: list)))
        return (entries as? [[String: String]] ?? []).compactMap { $0["icon"] }
    }
}
