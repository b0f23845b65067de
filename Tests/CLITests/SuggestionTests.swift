import Foundation
import LarderTestSupport
import Testing

/// Suggested options for manifests of unknown shape. Users can paste them into a shell.
@Suite struct SuggestionTests {
    /// A manifest and the suggestion for it.
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let suggestion: String

        init(_ text: String, _ suggestion: String) {
            self.text = text
            self.suggestion = suggestion
        }

        var testDescription: String { suggestion }
    }

    private static let url = "http://a.example/~.png"

    /// Repeats a text, and replaces `~` with the number of each copy.
    private static func repeated(_ count: Int, _ text: String, between: String = ",") -> String {
        (0..<count).map { text.replacing("~", with: "\($0)") }.joined(separator: between)
    }

    /// Returns a JSON array of `count` entries with these members.
    private static func list(_ count: Int, _ members: String) -> String {
        "[" + repeated(count, "{\(members)}") + "]"
    }

    static let cases: [Case] = {
        let icon = #""bild": "\#(url)""#
        let titled = #""title": "A~", "icon_url": "\#(url)", "site": "http://b.example/""#
        var cases = [
            // Dictionaries by identifier: in a member, nested, and as the root.
            Case(
                #"{"v": 1, "feed": {"# + repeated(430, #""com.a~": {\#(titled)}"#) + "}}",
                "430 icons found with"
                    + " --entries 'feed.*' --icon-key icon_url --name-key title"),
            Case(
                #"{"a": {"b": {"# + repeated(3, #""a~": {\#(icon)}"#) + "}}}",
                "3 icons found with --entries 'a.b.*' --icon-key bild"),
            Case(
                "{" + repeated(40, #""a~": {"label": "A", \#(icon)}"#) + #", "version": 3}"#,
                "40 icons found with --icon-key bild --name-key label"),
        ]
        // Arrays in an array.
        let spaced = #""label": "A~", "image href": "\#(url)""#
        cases.append(
            Case(
                #"{"pages": ["# + list(5, spaced) + "," + list(2, spaced) + "]}",
                "7 icons found with"
                    + #" --entries 'pages[*][*]' --icon-key '["image href"]' --name-key label"#))
        // Icons come before screenshots, regardless of their number and names.
        cases += [
            Case(
                #"{"item": {"title": "A", "app": {"icon": "http://a.example/a.png"}, "screenshots": ["#
                    + repeated(9, #"{"image": "\#(url)"}"#) + "]}}",
                "1 icon found with"
                    + " --entries item.app --icon-key icon;"
                    + " 9 with --entries item.screenshots --icon-key image"),
            Case(
                list(3, #""title": "A~", "hero": {"thumb": "\#(url)?1"}, "art": {"x": "\#(url)"}"#),
                "3 icons found with --icon-key art.x --name-key title;"
                    + " 3 with --icon-key hero.thumb --name-key title"),
        ]
        let categories = ["games", "tools", "more"].map { "\"\($0)\": " + list(4, icon) }
        cases.append(
            Case(
                "{" + categories.joined(separator: ",") + "}",
                "12 icons found with --entries '*[*]' --icon-key bild"))
        // Names that need quoting in paths and in shells.
        let quoted = #""\"App\" Name": "A~", "pic.`url`": "\#(url)""#
        cases.append(
            Case(
                #"{"the 'list' | $(id)": {"a.b": "# + list(7, quoted) + "}}",
                #"7 icons found with --entries '["the '\''list'\'' | $(id)"]["a.b"]'"#
                    + #" --icon-key '["pic.`url`"]' --name-key '["\"App\" Name"]'"#))
        // Nested icons, and screenshots.
        let deep =
            #""appName": "A~", "developerName": "B", "art": [{"w": 1, "url": "\#(url)"}],"#
            + #""screenshots": ["\#(url)?1", "\#(url)?2"]"#
        cases.append(
            Case(
                list(20, deep),
                "20 icons found with --icon-key 'art[*].url' --name-key appName;"
                    + " 20 with --icon-key 'screenshots[*]' --name-key appName"))
        // JSON Lines, a list of URLs, and a single entry.
        cases += [
            Case(
                repeated(20, #"{"title": "A~", "bild": {"klein": "\#(url)"}}"#, between: "\n"),
                "20 icons found with --icon-key bild.klein --name-key title"),
            Case(
                #"{"shots": ["# + repeated(9, #""\#(url)""#) + "]}",
                "9 icons found with --entries shots --icon-key @"),
            Case(
                #"{"app": {"inner": {"title": "A", "pic": "http://a.example/a.png"}}}"#,
                "1 icon found with"
                    + " --entries app.inner --icon-key pic --name-key title"),
        ]
        let plist =
            "<dict><key>title</key><string>A~</string><key>Bild</key><string>\(url)</string></dict>"
        cases.append(
            Case(
                "<plist><dict><key>Programme</key><array>" + repeated(15, plist, between: "")
                    + "</array></dict></plist>",
                "15 icons found with"
                    + " --entries Programme --icon-key Bild --name-key title"))
        return cases
    }()

    @Test(arguments: cases)
    func suggestedOptionsReadTheManifest(_ given: Case) async throws {
        let (text, suggestion) = (given.text, given.suggestion)
        try await withFixture { larder in
            let manifest = try larder.write(text.utf8, to: "feed")
            let refused = try larder.run("plan", manifest, "--explain")
            #expect(refused.status == 65, "\(refused)")
            #expect(refused.standardError.contains("; \(suggestion)\n"), "\(refused)")
            // Standard input can be read only once.
            let piped = try larder.run("plan", "-", standardInput: Data(text.utf8))
            #expect(piped.standardError.contains("; \(suggestion)\n"), "\(piped)")

            for found in suggestion.split(separator: "; ") {
                let (count, options) = try countAndOptions(of: found)
                let plan = try runInShell(larder, "plan feed --json \(options)")
                let counts = try #require(
                    try JSONValue.lines(plan.standardOutputBytes).last, "\(plan)")
                #expect(plan.status == 0, "\(plan)")
                #expect(counts["entries"]?.integer == count, "\(plan)")
                #expect(counts["skipped"]?.integer == 0 && counts["failed"]?.integer == 0)
            }
        }
    }

    private func countAndOptions(of found: Substring) throws -> (Int, Substring) {
        let count = try #require(Int(found.prefix { $0.isNumber }))
        let start = try #require(found.range(of: "--")).lowerBound
        return (count, found[start...])
    }

    /// Runs `larder` with this text pasted into a shell.
    private func runInShell(_ larder: CLIFixture, _ line: String) throws -> Finished {
        try RunningProcess(
            "/bin/sh", ["-c", "exec \"$0\" \(line) --cache cache", larder.binary.path],
            directory: larder.directory.path
        ).wait(timeout: 300)
    }

    /// Paths that are too long or contain control characters are not suggested, either.
    @Test(arguments: [
        #"{"a": [{"name": "A", "home": "http://a.example/"}]}"#,
        #"{"rows": [["A", "http://a.example/1.png"], ["B", "http://a.example/2.png"]]}"#,
        #"{"types": {"image": ["image/png", "image/jpeg"]}}"#,
        #"{"li\u001b[2Jst": [{"pic": "http://a.example/1.png"}]}"#,
        #"{"li\nst": [{"pic": "http://a.example/1.png"}]}"#,
        "{\"\(String(repeating: "long", count: 100))\": [{\"pic\": \"http://a.example/1.png\"}]}",
    ])
    func nothingIsSuggestedWithoutLikelyIcons(_ text: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.write(text.utf8, to: "feed")
            let refused = try larder.run("plan", manifest)
            #expect(refused.status == 65, "\(refused)")
            #expect(refused.standardError.hasSuffix("to build their URLs\n"), "\(refused)")
        }
    }

    @Test func onlyTheBeginningOfALongManifestIsSearched() async throws {
        try await withFixture { larder in
            let icon = #"{"bild": "\#(Self.url)"}"#
            let none = String(repeating: "{},", count: 100_000)
            let text = "{\"apps\": [\(icon), \(icon), \(none) \(icon)]}"
            let manifest = try larder.write(text.utf8, to: "feed")
            let refused = try larder.run("plan", manifest, "--explain", "--quiet")
            let words = "; at least 2 icons found with --entries apps --icon-key bild\n"
            #expect(refused.standardError.hasSuffix(words), "\(refused)")
        }
    }

    /// Also if the entries are known but not their icons, and if the options match nothing.
    @Test func everyRefusedManifestGetsASuggestion() async throws {
        try await withFixture { larder in
            let listed = try larder.write(
                Self.list(3, #""name": "A~", "bild": "\#(Self.url)""#).utf8, to: "list")
            let words = "3 icons found with --icon-key bild --name-key name"
            let plan = try larder.run("plan", listed, "--explain", "--quiet")
            #expect(plan.status == 65, "\(plan)")
            #expect(
                plan.standardError
                    == "larder: \(listed): none of the 3 entries has an icon; \(words)\n")

            let named = try larder.run("plan", listed, "--entries", "apps")
            #expect(named.status == 65, "\(named)")
            #expect(named.standardError.hasSuffix("; \(words)\n"), "\(named)")
            let keep = try larder.prefetch(try larder.manifest(urls: larder.origin.serveIcons(1)))
            #expect(keep.status == 0)
            for command in [["evict", "--keep", listed], ["pin", listed]] {
                let refused = try larder.binary.run(command + ["--cache", larder.cache])
                #expect(refused.status == 65, "\(refused)")
                #expect(refused.standardError.hasSuffix("; \(words)\n"), "\(refused)")
            }
            let relative = try larder.write(
                #"{"list": [{"icon": "a.png"}, {"icon": "b.png"}]}"#.utf8, to: "relative")
            #expect(
                try larder.run("plan", relative).standardError.hasSuffix(
                    "--entries list --icon-key icon (relative URLs, add --base-url)\n"))
        }
    }

    @Test func everySuggestionOfRelativeIconsSaysSo() async throws {
        try await withFixture { larder in
            let entry = #"{"name": "A~", "pic": "i/~.png", "art": "a/~.png", "site": "b/~.png"}"#
            let list = try larder.write(
                (#"{"rows": ["# + Self.repeated(3, entry) + "]}").utf8, to: "list")
            let refused = try larder.run("plan", list)
            let parts = refused.standardError.split(separator: "; ").dropFirst()
            #expect(parts.count == 3, "\(refused)")
            let remark = "(relative URLs, add --base-url)"
            #expect(parts.allSatisfy { $0.contains(remark) }, "\(refused)")
        }
    }

    /// The usable icon is another member, or nested in the unusable one.
    @Test(arguments: [
        (#"{"name": "A~", "icon": "fas fa-home", "logo": "~"}"#, "--icon-key logo"),
        (#"{"name": "A~", "icon": {"url": "~", "w": 1}}"#, "--icon-key icon.url"),
        (#"{"name": "A~", "icon": ["~", "~?2"]}"#, "--icon-key 'icon[*]'"),
        (#"{"name": "A~", "icon": [{"src": "~"}]}"#, "--icon-key 'icon[*].src'"),
        (#"{"name": "A~", "icon": 7, "pics": {"s": "~"}}"#, "--icon-key pics.s"),
        (#"{"name": "A~", "icon": "home", "logo": "i/~.png"}"#, "--icon-key logo"),
    ])
    func unusableIconsGetASuggestion(_ entry: String, _ options: String) async throws {
        try await withFixture { larder in
            let entry = entry.replacing("\"~", with: "\"\(Self.url)")
            let list = try larder.write("[\(Self.repeated(3, entry))]".utf8, to: "feed")
            let failed = try larder.run("plan", list, "--explain", "--json")
            #expect([0, 2].contains(failed.status), "\(failed)")
            #expect(
                failed.standardError.contains(
                    ": none of the 3 icons can be used; 3 icons found with"
                        + " \(options) --name-key name"), "\(failed)")
            let lines = try JSONValue.lines(failed.standardOutputBytes)
            #expect(
                lines.dropLast().last?["suggestions"]?.array?.first
                    == .string("\(options) --name-key name"), "\(failed)")
            let pasted = try runInShell(larder, "plan feed --base-url http://a.example/ \(options)")
            #expect(pasted.status == 0, "\(pasted)")
        }
    }

    /// If only a base URL is missing, the summary says so.
    @Test func relativeIconsGetNoSuggestion() async throws {
        try await withFixture { larder in
            let texts = [
                Self.list(3, #""name": "A~", "icon": "i/~.png""#),
                #"{"name": "A", "icons": [{"src": "1.png"}, {"src": "2.png"}]}"#,
            ]
            for text in texts {
                let plan = try larder.run("plan", try larder.write(text.utf8, to: "feed"))
                #expect(plan.status == 0 && plan.standardError.isEmpty, "\(plan)")
                #expect(plan.standardOutput.contains("; --base-url resolves them"), "\(plan)")
            }
        }
    }

    @Test(arguments: ["dense", "pretty", "lines", "sequence"])
    func everySuggestionForTheCorpusWorks(_ style: String) async throws {
        try await withFixture { larder in
            for (number, document) in Self.corpus.enumerated() {
                let lists = document as? [Any] ?? [document]
                func text(_ value: Any, _ options: JSONSerialization.WritingOptions) throws
                    -> String
                {
                    let data = try JSONSerialization.data(
                        withJSONObject: value, options: options.union(.sortedKeys))
                    return String(decoding: data, as: UTF8.self)
                }
                let text =
                    switch style {
                    case "lines": try lists.map { try text($0, []) }.joined(separator: "\n")
                    case "sequence":
                        try lists.map { "\u{1E}" + (try text($0, .prettyPrinted)) + "\n" }.joined()
                    case "pretty": try text(document, .prettyPrinted)
                    default: try text(document, [])
                    }
                _ = try larder.write(text.utf8, to: "feed")
                let plan = try larder.run("plan", "\(larder.directory.path)/feed")
                let lines = plan.standardError.split(whereSeparator: \.isNewline)
                let found = lines.flatMap { $0.split(separator: "; ") }.filter {
                    $0.contains(" with --") && $0.contains("--icon-key")
                }
                #expect(plan.status == 0 || !found.isEmpty, "\(number): \(plan)")
                for suggestion in found {
                    let start = try #require(suggestion.range(of: "--")).lowerBound
                    let parts = suggestion[start...].components(separatedBy: " (relative")
                    let base = parts.count > 1 ? " --base-url http://b.example/" : ""
                    let pasted = try runInShell(larder, "plan feed \(parts[0])\(base)")
                    #expect(pasted.status == 0, "\(number) \(suggestion): \(pasted)")
                }
            }
        }
    }

    /// Lists of different shapes. The icons are in various places.
    private static var corpus: [Any] {
        func entries(_ members: [String: Any], _ count: Int = 3) -> [[String: Any]] {
            (0..<count).map { number in
                members.mapValues { value in
                    (value as? String)?.replacing("~", with: "\(number)") ?? value
                }
            }
        }
        let url = "http://a.example/~.png"
        return [
            entries(["name": "A~", "picture": url]), entries(["title": "A~", "Icon": url]),
            ["data": ["items": entries(["label": "A~", "img": url, "banner": url])]],
            [
                "a": entries(["name": "A~", "cover": url]),
                "b": entries(["name": "B~", "cover": url]),
            ],
            ["rows": entries(["name": "A~", "it's": url])],
            ["rows": entries(["name": "A~", "$(x) `y`": ["*": url]])],
            ["rows": entries(["name": "A~", "a.b": ["c[0]": "i/~.png"]])],
            ["Ünïcode": entries(["Näme": "A~", "bild": url])],
            entries(["name": "A~", "images": [["kind": "x", "url": "http://a.example/k.png"]]]),
            entries(["name": "A~", "icon": "bell", "avatar": url]),
            ["x": ["y": ["z": entries(["name": "A~", "poster": url])]]],
            ["list": (0..<4).map { "http://a.example/\($0).png" }],
            entries(["name": "A~", "icon": ["light": "l.png", "dark": "d.png"]]),
            [
                "byID": [
                    "k1": ["name": "K", "image": "k.png"], "k2": ["name": "L", "image": "l.png"],
                ]
            ],
        ]
    }
}
