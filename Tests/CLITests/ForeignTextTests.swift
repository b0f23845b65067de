import Foundation
import LarderTestSupport
import Testing

/// Text with many combining marks. Sorting the marks takes time quadratic in their number, so text
/// from outside must be compared without normalizing it.
@Suite(.serialized) struct ForeignTextTests {
    /// Returns a letter with `count` combining marks that are not in canonical order.
    private static func textWithMarks(_ count: Int) -> String {
        var text = "e"
        for number in 0..<count {
            text.unicodeScalars.append(number.isMultiple(of: 2) ? "\u{301}" : "\u{323}")
        }
        return text
    }

    /// The time limit for a command. A command that sorts the marks takes more than 30 seconds.
    private static let timeLimit = Duration.seconds(12)

    /// A single one of these drawings once delayed 200 other icons and an interrupt.
    @Test func drawingsWithManyMarksDoNotDelayOtherIcons() async throws {
        try await withFixture { larder in
            let marks = Self.textWithMarks(30_000)
            let drawing = Reply.ok(
                "<svg xmlns='http://www.w3.org/2000/svg' width='\(marks)' height='\(marks)'/>")
            let drawings = (0..<12).map { "/marks-\($0)" }
            for path in drawings { larder.origin.on(path, drawing) }
            let urls = larder.origin.serveIcons(200)
            let manifest = try larder.manifest(urls: drawings.map { larder.origin.url($0) } + urls)
            let run = try larder.prefetch(manifest)
            #expect(run.finished.duration < Self.timeLimit)
            // The drawings are stored, too, although their size is unreadable.
            #expect(run.summary.fetched == 212, "\(run.finished)")
        }
    }

    @Test(
        arguments: share(of: [
            "Vary", "Cache-Control", "ETag", "Last-Modified", "Age", "Expires", "Content-Encoding",
        ]))
    func aHeaderFieldWithManyMarksTakesLittleTime(name: String) async throws {
        try await withFixture { larder in
            let value = (name == "ETag" ? "\"" : "") + Self.textWithMarks(30_000)
            let icon = Icons.reply(1).header(name, value)
            let urls = (0..<24).map { larder.origin.url("/\($0)") }
            larder.origin.onAny { _ in icon }
            let manifest = try larder.manifest(urls: urls)
            for _ in 0..<2 {
                let run = try larder.prefetch(manifest, options: ["--revalidate", "always"])
                #expect(run.finished.duration < Self.timeLimit)
                #expect(run.finished.status == 0, "\(run.finished)")
            }
            #expect(try larder.run("plan", manifest).duration < Self.timeLimit)
        }
    }

    /// Marks in keys, names, sizes, priorities and URLs, in several forms of manifests.
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
    func aManifestWithManyMarksTakesLittleTime(text: String) async throws {
        try await withFixture { larder in
            let marks = Self.textWithMarks(150_000)
            let manifest = try larder.write(
                text.replacingOccurrences(of: "$", with: marks).utf8, to: "apps.json")
            for command in ["plan", "prefetch"] {
                let finished = try await onThreadOfItsOwn {
                    try larder.binary.run(
                        [command, manifest, "--cache", larder.cache, "--attempts", "1"],
                        timeout: 120)
                }
                #expect(finished.duration < Self.timeLimit)
            }
        }
    }
}
