import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Testing

@testable import LarderExport

/// Manifests with icons from a cache.
@Suite struct LocalizerTests {
    private struct Run {
        let text: String
        let report: LocalizeReport
        /// The recorded replacements.
        var values: [String: String?] = [:]

        var codes: [ExportCode] { report.problems.failures.map(\.code) }
    }

    private func localize(
        _ text: String, in scene: ExportScene, _ target: LocalizeTarget,
        name: String = "test", hasPlaceholders: Bool = false
    ) throws -> Run {
        let localizer = try Localizer(
            try Cache.open(at: scene.cachePath), target, hasPlaceholders: hasPlaceholders)
        var output: [UInt8] = []
        let catalogue = try Catalogue(.bytes(Array(text.utf8), name: name))
        let report = try localizer.localize(catalogue) { output += $0 }
        let problems = report.problems
        // Each value is counted once.
        let sum =
            report.localized + report.unchanged + report.kinds.values.reduce(0, +)
            + problems.placeholders + problems.failed
        #expect(report.icons == sum)
        var run = Run(text: String(decoding: output, as: UTF8.self), report: report)
        try localizer.edits.forEachIcon { run.values[$0] = $1 }
        return run
    }

    private func files(_ scene: ExportScene) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: scene.target))
    }

    @Test func iconsBecomeFilesNextToTheOutput() throws {
        try ExportScene.run { scene in
            let urls = ["https://a.example/x/One.png?v=1", "https://b.example/x/One.png"]
            try scene.store(urls: urls)
            let text = #"[ {"icon": "\#(urls[0])"}, {"icon":"\#(urls[1])"},{"icon":"\#(urls[0])"}]"#
            let target = LocalizeTarget.icons(scene.target, seenFrom: scene.directory.path(""))
            let run = try localize(text, in: scene, target)
            let names = (0..<2).map {
                "One-\(Digest(of: ExportScene.icon($0)).hex.prefix(8)).svg"
            }
            var expected = text
            for (url, name) in zip(urls, names) {
                expected = expected.replacing("\"\(url)\"", with: "\"out/\(name)\"")
            }
            #expect(run.text == expected)
            #expect(try files(scene) == Set(names))
            #expect(run.values == [urls[0]: "out/" + names[0], urls[1]: "out/" + names[1]])
            #expect(run.report.localized == 3 && run.report.files == 2)
            #expect(run.report.remaining == 0)
            // The next run writes no file again.
            let again = try localize(text, in: scene, target)
            #expect(again.text == run.text && again.report.files == 0)
            // A localized manifest does not change.
            let last = try localize(run.text, in: scene, target)
            #expect(last.text == run.text && last.report.unchanged == 3)
            #expect(!last.report.hasChanges)
        }
    }

    @Test func aListInFlowStyleKeepsItsStyle() throws {
        try ExportScene.run { scene in
            let url = "https://a.example/0.png"
            try scene.store(ExportScene.icon(0), at: url)
            let text = """
                [{name: A, icon: \(url)},  # one
                 {'name': 'B', 'icon': '\(url)'}, {"name": "C", "icon": "\(url)"}]

                """
            let target = LocalizeTarget.icons(scene.target, seenFrom: scene.directory.path(""))
            let run = try localize(text, in: scene, target, name: "test.yaml")
            let name = try #require(run.values[url] ?? nil)
            #expect(run.text == text.replacing(url, with: name))
            #expect(run.report.format == .yaml && run.report.localized == 3)
        }
    }

    /// The manifest's own icons can be in a directory of the same name.
    @Test func onlyExistingFilesOfAnEarlierRunAreOwn() throws {
        try ExportScene.run { scene in
            try scene.store(urls: ["https://a.example/x/One.png"])
            let target = LocalizeTarget.icons(scene.target, seenFrom: scene.directory.path(""))
            let written = try localize(
                #"[{"icon":"https://a.example/x/One.png"}]"#, in: scene, target)
            let name = try #require(written.values.values.first ?? nil)
            #expect(target.isOwn(name))
            #expect(!target.isOwn("out/One.png") && !target.isOwn("x/\(name)"))
            try FileManager.default.removeItem(atPath: scene.directory.path(name))
            #expect(!target.isOwn(name))
        }
    }

    @Test(arguments: [
        ("https://a.example/../..%2F..%2Fx", "x"), ("https://a.example/CON", "CON_"),
        (
            "https://a.example/" + String(repeating: "a", count: 6_000),
            String(repeating: "a", count: 40)
        ),
        ("https://a.example/a%00b%1B%0A.c.d", "a-b-c"), ("https://a.example/", "a-example"),
        ("https://a.example/%C3%A9%20.", "icon"), ("https://a.example/a..", "a"),
        ("https://a.example/-rf", "rf"), ("https://a.example/$(id)`x`", "id-x"),
    ])
    func fileNamesAreSafeEverywhere(_ url: String, _ stem: String) throws {
        try ExportScene.run { scene in
            let key = try HTTPURL(url).key
            try scene.store(ExportScene.icon(1), at: key)
            let text = try JSONSerialization.data(withJSONObject: [["icon": url]])
            let run = try localize(
                String(decoding: text, as: UTF8.self), in: scene,
                .icons(scene.target, seenFrom: scene.target))
            let digits = Digest(of: ExportScene.icon(1)).hex.prefix(8)
            #expect(try files(scene) == ["\(stem)-\(digits).svg"])
            #expect(run.report.problems.failed == 0)
        }
    }

    @Test func urlsOfTheServerAreOwnOnlyWhileTheirIconsAreCached() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: "https://a.example/0?a=1")
            let text = """
                [{"icon":"http:\\/\\/h\\/icon?url=https://a.example/0%3Fa%3D1"},
                {"icon":"http://h/icon?url=https://a.example/1"}]
                """
            let run = try localize(text, in: scene, .server("http://h"))
            #expect(run.text == text && run.codes == [.missing])
            #expect(run.report.unchanged == 1 && !run.report.hasChanges)
            #expect(run.report.remaining == 0)
            let placed = try localize(
                text, in: scene, .server("http://h"), hasPlaceholders: true)
            #expect(placed.report.unchanged == 1 && placed.report.problems.placeholders == 1)
            #expect(!placed.text.contains("a.example/1"))
        }
    }

    @Test func anotherObjectGetsALongerName() throws {
        let edits = try CatalogueEdits()
        let digests = ["a", "b"].map { Digest(of: Array($0.utf8)) }
        #expect(try edits.take("A-12345678.png", for: digests[0]))
        #expect(try edits.take("a-12345678.png", for: digests[0]))
        #expect(try !edits.take("a-12345678.PNG", for: digests[1]))
    }

    @Test func aDirectoryIsARelativeURL() {
        func prefix(_ directory: String, _ folder: String) -> String? {
            guard case .icons(_, let prefix) = LocalizeTarget.icons(directory, seenFrom: folder)
            else { return nil }
            return prefix
        }
        #expect(prefix("/a/b/c", "/a/b") == "c/")
        #expect(prefix("/a/x y/é", "/a/b") == "../x%20y/%C3%A9/")
        #expect(prefix("/a/b", "/a/b") == "")
        #expect(prefix("/c", "/a/b/") == "../../c/")
    }

    @Test func aRelativeURLLeadsThroughLinks() throws {
        try ExportScene.run { scene in
            let path = { (name: String) in scene.directory.path(name) }
            try FileManager.default.createDirectory(
                atPath: path("a/b/c"), withIntermediateDirectories: true)
            for (link, target) in [("link", "a/b/c"), ("a/b/c/icons", "../..")] {
                try FileManager.default.createSymbolicLink(
                    atPath: path(link), withDestinationPath: target)
            }
            for (directory, expected) in [
                ("new", "../../../new/"), ("link/icons", "icons/"), ("a/b/x", "../x/"),
                ("link/../x", "../x/"), ("link/new", "new/"),
            ] {
                let target = LocalizeTarget.icons(path(directory), seenFrom: path("link"))
                guard case .icons(_, expected) = target else {
                    Issue.record("\(directory): \(target)")
                    continue
                }
            }
        }
    }

    @Test func missingAndUnusableIconsKeepTheirURLs() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: "https://a.example/0")
            let text = """
                [{"icon":"https://a.example/0"},{"icon":"https://a.example/1.png"},
                {"icon":"https://a.example/1\\u002Epng"},{"icon":"https://a.example/2"},
                {"icon":"https://a.example/0","size":3},{"icon":"http://"},{"name":"B"}]
                """
            let run = try localize(text, in: scene, .server("http://h"))
            #expect(run.codes == [.badEntry, .missing, .missing, .sizeMismatch])
            #expect(run.report.problems.failed == 5 && run.report.problems.repeats == 1)
            #expect(run.report.problems.skipped == 1 && run.report.localized == 1)
            #expect(run.report.remaining == 5)
            let new = "http://h/icon?url=https://a.example/0"
            let parts = text.split(separator: ",", maxSplits: 1)
            #expect(run.text == "[{\"icon\":\"\(new)\"}," + parts[1])
            #expect(run.values["https://a.example/1.png"] == .some(nil))
            #expect(run.values["http://"] == .some(nil))
            let placed = try localize(
                text, in: scene, .icons(scene.target, seenFrom: scene.target),
                hasPlaceholders: true)
            let problems = placed.report.problems
            #expect(problems.placeholders == 4 && problems.counts == [.badEntry: 1, .noIcon: 1])
            #expect(placed.codes.count == 4)
            let names = try files(scene).filter { $0.hasPrefix("missing-") }
            #expect(names.count == 1)
            #expect(placed.text.components(separatedBy: names.first ?? "?").count == 5)
        }
    }

    /// A merge key puts one value into several entries.
    @Test(arguments: [
        ["sha256: \(String(repeating: "a", count: 64)), ", ""], ["", "size: 3, "],
    ])
    func aValueOfSeveralEntriesIsReplacedForAllOrForNone(_ demands: [String]) throws {
        try ExportScene.run { scene in
            let url = "https://a.example/0.png"
            try scene.store(ExportScene.icon(0), at: url)
            let merged =
                "all: &all {icon: \(url)}\napps:\n"
                + demands.map { "- {\($0)<<: *all}\n" }.joined()
            let kept = try localize(merged, in: scene, .server("http://h"))
            #expect(kept.text == merged && !kept.report.hasChanges)
            #expect(kept.report.problems.failed == 2 && kept.codes.count == 1)
            #expect(kept.report.remaining == 1 && kept.values == [url: nil])
            // The URL is kept in one place and replaced in another.
            let new = "http://h/icon?url=\(url)"
            let run = try localize(merged + "- icon: \(url)\n", in: scene, .server("http://h"))
            #expect(run.text == merged + "- icon: \"\(new)\"\n")
            #expect(run.report.icons == 3 && run.report.localized == 1)
            #expect(run.report.problems.failed == 2 && run.values == [url: new])
            let placed = try localize(
                merged, in: scene, .data(limit: 1 << 20), hasPlaceholders: true)
            #expect(placed.report.problems.placeholders == 2 && placed.report.localized == 0)
            #expect(!placed.text.contains(url))
        }
    }

    /// The search for URLs of images does not find a URL without a suffix.
    @Test func aURLOfSeveralEntriesRemainsOnce() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: "https://a.example/0")
            for url in ["https://a.example/0", "https://a.example/1"] {
                let text = "- &a {icon: \(url)}\n- *a\n- {<<: *a, size: 3}\n"
                let run = try localize(text, in: scene, .server("http://h"))
                #expect(run.text == text && run.report.problems.failed == 3)
                #expect(run.report.remaining == 1)
            }
        }
    }

    @Test func dataURLsHaveTheTypeOfTheContent() throws {
        try ExportScene.run { scene in
            let bytes = ExportScene.icon(0)
            try scene.store(bytes, at: "https://a.example/0.png")
            let text = #"[{"icon":"https://a.example/0.png"}]"#
            let run = try localize(text, in: scene, .data(limit: Int64(bytes.count)))
            let url = "data:image/svg+xml;base64,\(Data(bytes).base64EncodedString())"
            #expect(run.text == #"[{"icon":"\#(url)"}]"#)
            let large = try localize(text, in: scene, .data(limit: Int64(bytes.count - 1)))
            #expect(large.text == text && large.codes == [.tooLarge])
        }
    }

    /// A key identifies the icon of a URL that changes.
    @Test func anIconWithAKeyIsFoundByItsKey() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: "key:app 1", url: "https://a.example/old")
            let text = #"[{"icon":"https://a.example/new?sig=1","key":"app 1"}]"#
            let run = try localize(text, in: scene, .server("http://h"))
            #expect(run.text.contains(#""http://h/icon?url=key:app%201""#))
        }
    }

    @Test func aDamagedObjectIsNotWritten() throws {
        try ExportScene.run { scene in
            let digest = try scene.store(ExportScene.icon(0), at: "https://a.example/0")
            let cache = try Cache.open(at: scene.cachePath)
            let path = cache.absolutePath(of: digest)
            #expect(chmod(path, 0o644) == 0)
            var bytes = ExportScene.icon(0)
            bytes[5] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let text = #"[{"icon":"https://a.example/0"}]"#
            for target in [
                LocalizeTarget.data(limit: 1 << 20), .icons(scene.target, seenFrom: "/"),
            ] {
                let run = try localize(text, in: scene, target)
                #expect(run.text == text && run.codes == [.corrupt])
            }
            #expect(try files(scene).isEmpty)
        }
    }

    @Test func manyValuesNeedLittleMemory() throws {
        try ExportScene.run { scene in
            try scene.store(ExportScene.icon(0), at: "https://a.example/0")
            let lines = (0..<5_000).map { #"{"icon":"https://a.example/\#($0 % 3_000)"}"# }
            let run = try localize(
                lines.joined(separator: "\n"), in: scene, .server("http://h"))
            #expect(run.report.icons == 5_000 && run.report.localized == 2)
            let problems = run.report.problems
            #expect(problems.failed == 4_998 && problems.failures.count == 100)
            #expect(run.values.count == 3_000)
            #expect(run.text.components(separatedBy: "http://h/").count == 3)
        }
    }
}
