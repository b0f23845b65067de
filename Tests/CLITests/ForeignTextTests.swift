import Foundation
import LarderTestSupport
import Testing

/// Combining marks, which to sort takes a time that grows with the square of their number: wherever
/// text from outside is compared, it takes no longer than other text of its size.
@Suite(.serialized) struct ForeignTextTests {
    /// A letter and as many marks, in an order that is not theirs.
    private static func marked(_ count: Int) -> String {
        var text = "e"
        for number in 0..<count {
            text.unicodeScalars.append(number.isMultiple(of: 2) ? "\u{301}" : "\u{323}")
        }
        return text
    }

    /// What took half a minute and more each is to be done in this time on any machine.
    private static let bound = Duration.seconds(12)

    /// One of these in the feeder's way has kept 200 others waiting, and an interrupt unheard.
    @Test func drawingsOfMarksHoldUpNobody() async throws {
        try await withFixture { larder in
            let marks = Self.marked(30_000)
            let drawing = Reply.ok(
                "<svg xmlns='http://www.w3.org/2000/svg' width='\(marks)' height='\(marks)'/>")
            let drawings = (0..<12).map { "/marks-\($0)" }
            for path in drawings { larder.origin.on(path, drawing) }
            let urls = larder.origin.serveIcons(200)
            let manifest = try larder.manifest(urls: drawings.map { larder.origin.url($0) } + urls)
            let run = try larder.prefetch(manifest)
            #expect(run.finished.duration < Self.bound)
            // The same bytes are the same icon, with no size that can be read.
            #expect(run.summary.fetched == 212, "\(run.finished)")
        }
    }

    @Test(
        arguments: share(of: [
            "Vary", "Cache-Control", "ETag", "Last-Modified", "Age", "Expires", "Content-Encoding",
        ]))
    func aHeaderFieldOfMarksTakesNoTime(name: String) async throws {
        try await withFixture { larder in
            let value = (name == "ETag" ? "\"" : "") + Self.marked(30_000)
            let icon = Icons.reply(1).header(name, value)
            let urls = (0..<24).map { larder.origin.url("/\($0)") }
            larder.origin.onAny { _ in icon }
            let manifest = try larder.manifest(urls: urls)
            for _ in 0..<2 {
                let run = try larder.prefetch(manifest, options: ["--revalidate", "always"])
                #expect(run.finished.duration < Self.bound)
                #expect(run.finished.status == 0, "\(run.finished)")
            }
            #expect(try larder.run("plan", manifest).duration < Self.bound)
        }
    }

    /// Keys, names, sizes, priorities, URLs: all that a manifest is recognised by and read for.
    @Test(
        arguments: share(of: [
            #"{"$":{"icon":"$"},"a$":{"icon":"$"},"$b":{"icon":"$"}}"#,
            #"[{"icon":"http://127.0.0.1:9/a","$":1,"priority":"$"}]"#,
            #"[{"icon":"$://127.0.0.1:9/a"},{"icon":"data:$,a"},{"icon":"$@://"}]"#,
            #"[{"icon":"http://127.0.0.1:9/a","integrity":"$","name":"$"}]"#,
            #"{"icons":[{"src":"/a","sizes":"$"},{"src":"/b","sizes":"$"}],"name":"$"}"#,
            #"{"baseUrl":"$","apps":[{"icon":"{w}$"}]}"#,
            "http://127.0.0.1:9/$\n$\nhttp://127.0.0.1:9/$",
        ]))
    func aManifestOfMarksTakesNoTime(text: String) async throws {
        try await withFixture { larder in
            let marks = Self.marked(150_000)
            let manifest = try larder.write(
                text.replacingOccurrences(of: "$", with: marks).utf8, to: "apps.json")
            for command in ["plan", "prefetch"] {
                let finished = try await onThreadOfItsOwn {
                    try larder.binary.run(
                        [command, manifest, "--cache", larder.cache, "--attempts", "1"],
                        timeout: 120)
                }
                #expect(finished.duration < Self.bound)
            }
        }
    }
}
