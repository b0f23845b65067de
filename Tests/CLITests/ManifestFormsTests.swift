import Foundation
import LarderTestSupport
import Testing

/// Manifests in other forms than the plain one, read through the command line.
@Suite struct ManifestFormsTests {
    @Test func everyIconOfAnEntryIsFetched() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.write(
                """
                {"results":[{"trackName":"A","artworkUrl60":"\(urls[0])","artworkUrl512":"\(urls[1])"},
                 {"trackName":"B"},{"trackName":"C","artworkUrl60":"\(urls[2])"}]}
                """.utf8, to: "itunes")
            let run = try larder.prefetch(manifest)
            #expect(run.status == 0)
            #expect((run.summary.entries, run.summary.icons, run.summary.fetched) == (3, 4, 3))
            #expect(
                Set(run.lines.map { "\($0.position).\($0.iconNumber) \($0.outcome)" }) == [
                    "1.1 fetched", "1.2 fetched", "2.1 skipped", "3.1 fetched",
                ])
            let plan = try larder.run("plan", manifest, "--icons", "largest")
            #expect(
                plan.standardOutput.hasSuffix(
                    "3 entries (plain http 2, skipped 1); 2 URLs: cached 2\n"))
        }
    }

    @Test func iconURLsAreBuiltFromMembers() async throws {
        try await withFixture { larder in
            _ = larder.origin.serveIcons(2)
            let text = #"[{"id":"0","name":"A"},{"id":1},{"name":"C"},{"id":".."}]"#
            let manifest = try larder.write(text.utf8, to: "apps.json")
            let template = ["--icon-template", larder.origin.url("/") + "{id}"]
            let run = try larder.prefetch(manifest, options: template)
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "fetched", "failed", "failed"])
            let plan = try larder.run(arguments: ["plan", manifest, "--explain"] + template)
            #expect(plan.standardOutput.contains("  icon template: \(template[1])\n"), "\(plan)")
        }
    }

    @Test func optionsSelectEntriesNamesAndIcons() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.write(
                #"{"top":{"list":[{"who":"A","art":{"im:small":"\#(url)"}}]}}"#.utf8, to: "top")
            let refused = try larder.run("plan", manifest)
            #expect(refused.status == 65)
            #expect(refused.standardError.contains("--entries"))
            let plan = try larder.run(
                "plan", manifest, "--entries", "top.list", "--name-key", "who", "--icon-key",
                "art['im:small']", "--explain")
            #expect(plan.status == 0, "\(plan)")
            #expect(plan.standardOutput.contains("0  \(url)  A\n"))
            #expect(plan.standardOutput.contains("  icons: art['im:small']\n"))
            let wrong = try larder.run("plan", manifest, "--icon-key", "a[0]")
            #expect(wrong.status == 64)
        }
    }

    /// A mistyped `--integrity-key` would otherwise disable digest checks silently.
    @Test(arguments: ["--name-key", "--priority-key", "--integrity-key"])
    func aKeyOptionThatMatchesNoEntryIsReported(_ option: String) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.write(
                #"[{"icon":"\#(url)"},{"icon":"\#(url)","x":"7"}]"#.utf8, to: "apps.json")
            let told = "larder: \(manifest): no entry has a value at the \(option) path\n"
            for command in [["plan", manifest], larder.prefetchArguments([manifest], report: "-")] {
                let unmatched = try larder.binary.run(
                    command + ["--cache", larder.cache, option, "y", "--icon-key", "icon"])
                #expect(unmatched.standardError.contains(told), "\(unmatched)")
                let matched = try larder.binary.run(
                    command + ["--cache", larder.cache, option, "x", "--icon-key", "icon"])
                #expect(!matched.standardError.contains("no entry"), "\(matched)")
            }
            // Without digests `verify` has nothing to compare, so it refuses the manifest.
            let verified = try larder.run("verify", "--manifest", manifest, option, "y")
            #expect((verified.status == 65) == (option == "--integrity-key"), "\(verified)")
            #expect(
                (verified.standardError == told) == (option == "--integrity-key"), "\(verified)")
        }
    }

    /// The shapes are recognised by the names of their members.
    @Test(arguments: [
        #"{"resultCount":1,"results":[{"trackName":"A"}]}"#,
        #"{"items":[{"assets":[{"kind":"software-package","url":"https://a.example/a.ipa"}]}]}"#,
    ])
    func aKnownShapeWithoutIconsIsReported(_ text: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.write(text.utf8, to: "bare")
            for command in ["plan", "prefetch"] {
                let run = try larder.run(command, manifest)
                #expect(run.status == 0, "\(run)")
                #expect(run.standardError.contains("the only entry has no icon"), "\(run)")
            }
        }
    }

    /// Otherwise `evict --keep`, for example, would keep nothing.
    @Test func aManifestWithoutAnyIconIsRefused() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.write(
                #"[{"name":"A","art":"\#(url)"},{"name":"B"}]"#.utf8, to: "named")
            let complaint = "larder: \(manifest): none of the 2 entries has an icon; "
            for command in [
                ["prefetch", manifest], ["prefetch", manifest, "--quiet"], ["plan", manifest],
            ] {
                let refused = try larder.binary.run(command + ["--cache", larder.cache])
                #expect(refused.status == 65, "\(refused)")
                #expect(refused.standardError.hasPrefix(complaint), "\(refused)")
            }
            let empty = try larder.write("[]".utf8, to: "empty")
            #expect(try larder.run("plan", empty).status == 0)

            let named = ["--icon-key", "art"]
            #expect(try larder.prefetch(manifest, options: named).outcomes.count == 2)
            for command in [
                ["verify", "--manifest"], ["pin"], ["evict", "--max-size", "0", "--keep"],
                ["evict", "--max-size", "0", "--only"],
            ] {
                let arguments = command + [manifest, "--cache", larder.cache]
                let refused = try larder.binary.run(arguments)
                #expect(refused.status == 65, "\(refused)")
                #expect(refused.standardError.hasPrefix(complaint), "\(refused)")
                #expect(try larder.cat(url) == Icons.icon(0))
            }
            let verified = try larder.binary.run(
                ["verify", "--manifest", manifest, "--cache", larder.cache] + named)
            #expect(verified.status == 0, "\(verified)")
        }
    }

    /// The plan counts the icons of a second list, and `--explain` shows their path.
    @Test func iconsThatAreNotReadAreReported() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.write(
                #"{"apps":[{"icon":"\#(urls[0])"}],"games":[{"icon":"\#(urls[1])"},{"icon":"\#(urls[2])"}]}"#
                    .utf8, to: "apps.json")
            let told =
                "larder: \(manifest): 2 values look like icons but were not read; see --explain\n"
            let plan = try larder.run("plan", manifest, "--explain")
            #expect(plan.status == 0 && plan.standardError == told, "\(plan)")
            #expect(plan.standardOutput.contains("\n  not read: $.games[*].icon (2)\n"), "\(plan)")
            let json = try larder.run("plan", manifest, "--explain", "--json", "--quiet")
            let lines = try JSONValue.lines(json.standardOutputBytes)
            #expect(lines.first?["unread"]?.integer == 2, "\(json)")
            #expect(lines.first?["unread_paths"] == .array([.string("$.games[*].icon")]))
            #expect(lines.last?["unread"]?.integer == 2, "\(json)")
            for options in [[], ["--quiet"]] {
                let run = try larder.prefetch(manifest, options: options)
                #expect(run.status == 0 && run.finished.standardError == told, "\(run.finished)")
                let summary = try JSONValue.lines(run.finished.standardOutputBytes)
                #expect(summary.first?["unread"]?.integer == 2, "\(run.finished)")
            }
            // Every worker reads the whole manifest, but only the first one counts unread icons.
            let counts = try (0..<3).map { shard in
                let part = try larder.run(
                    "plan", manifest, "--shard", "\(shard)/3", "--json", "--quiet")
                return try JSONValue.lines(part.standardOutputBytes).last?["unread"]?.integer ?? 0
            }
            #expect(counts == [2, 0, 0])
        }
    }

    /// The same JSON objects, printed by different programs, protect the same icons.
    @Test(arguments: [
        ("{", ":", "}{"), ("{\n  ", ": ", "\n}\n{\n  "), ("\u{1E}{", ":", "}\n\u{1E}{"),
    ])
    func evictionReadsConcatenatedJSONWithAnyWhiteSpace(
        _ begin: String, _ colon: String, _ between: String
    ) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            _ = try larder.prefetch(try larder.manifest(urls: urls))
            let members = urls.prefix(3).map { "\"icon\"\(colon)\"\($0)\"" }
            let list = try larder.write(
                (begin + members.joined(separator: between) + "\n}\n").utf8, to: "list")
            let limits = ["--max-count", "0", "--json"]
            for option in [["--only", list], ["--keep", list] + limits] {
                let evicted = try larder.binary.run(
                    ["evict", "--cache", larder.cache, "--grace", "0"] + option)
                #expect([0, 2].contains(evicted.status), "\(evicted)")
                for (number, url) in urls.prefix(3).enumerated() {
                    #expect(try larder.cat(url) == Icons.icon(number))
                }
            }
            // Two concatenated arrays are refused, and nothing is evicted.
            let documents = try larder.write(
                "[{\"icon\":\"\(urls[0])\"}]\n[{\"icon\":\"\(urls[1])\"}]".utf8, to: "documents")
            let refused = try larder.binary.run(
                ["evict", "--cache", larder.cache, "--only", documents])
            #expect(refused.status == 65, "\(refused)")
            #expect(try larder.cat(urls[2]) == Icons.icon(2))
        }
    }

    @Test func explainShowsTheBaseURLWithoutSecrets() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest("a b.png")
            let base = ["--base-url", "http://me:secret@h.example/icons/?token=1"]
            let plan = try larder.binary.run(["plan", manifest, "--explain"] + base)
            let lines = plan.standardOutput.split(separator: "\n")
            #expect(lines.contains("  base: http://***@h.example/icons/?token=***"), "\(plan)")
            #expect(lines[0].contains("  http://***@h.example/icons/a%20b.png  "), "\(plan)")
            #expect(lines[1].hasSuffix(", 1 entry"), "\(plan)")
        }
    }

    @Test func dataURLsAreStoredWithoutRequests() async throws {
        try await withFixture { larder in
            let base64 = Data(Icons.png).base64EncodedString()
            let manifest = try larder.manifest([
                ["name": "A", "icon": "data:image/png;base64,\(base64)"],
                ["name": "B", "icon": "data:image/png;base64,\(base64)"],
                ["name": "C", "icon": "data:,no%20image"],
                ["name": "D", "icon": larder.origin.serveIcons(1)[0]],
                ["name": "E", "icon": "data:image/png;base64,\(base64)", "key": "e", "size": 3],
            ])
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "coalesced", "failed", "fetched", "failed"])
            #expect(
                run.summary.failures == ["not-an-image": 1, "size-mismatch": 1], "\(run.finished)")
            let key = try #require(try run.line(1).url)
            #expect(key.hasPrefix("ni:///sha-256;"))
            #expect(try larder.cat(key) == Icons.png)
            #expect(larder.origin.count() == 1)
            #expect(try larder.verify() == 0)
            let again = try larder.prefetch(manifest)
            #expect(again.outcomes == ["cached", "cached", "failed", "cached", "failed"])
        }
    }

    @Test func valuesThatAreNeverFetchedAreCountedByKind() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.manifest(
                urls: [
                    url, "mdi:home", "fas fa-x", "a.png", "{{ icon }}", "ftp://a/1", "ipfs://Q",
                    "data:;base64,!",
                ])
            let lines = """
                  not fetched, data: 1
                  not fetched, icon-set: 2; --icon-set maps a set to URLs
                  not fetched, other-scheme: 2; for ipfs:, use --ipfs-gateway
                  not fetched, relative: 1; --base-url resolves them
                  not fetched, template: 1

                """
            let counts =
                #""unfetched":{"data":1,"icon-set":2,"other-scheme":2,"relative":1,"template":1}"#
            let plan = try larder.run("plan", manifest)
            #expect(plan.status == 0 && plan.standardError.isEmpty, "\(plan)")
            #expect(plan.standardOutput.hasSuffix("\n" + lines), "\(plan)")
            let planned = try larder.run("plan", manifest, "--json", "--quiet").standardOutput
            #expect(planned.contains(counts), "\(planned)")
            let prefetch = ["prefetch", manifest, "--allow-private-network"]
            let text = try larder.run(arguments: prefetch)
            #expect(text.status == 0 && text.standardError.isEmpty, "\(text)")
            #expect(text.standardOutput.contains("\n" + lines), "\(text)")
            let json = try larder.run(arguments: prefetch + ["--json"])
            #expect(json.status == 0 && json.standardOutput.contains(counts), "\(json)")

            let verify = try larder.run("verify", "--manifest", manifest)
            #expect(verify.status == 0 && verify.standardOutput.contains(lines), "\(verify)")
            let verified = try larder.run("verify", "--manifest", manifest, "--json")
            #expect(verified.standardOutput.contains(counts), "\(verified)")
            let export = try larder.run(
                "export", larder.directory.path("seed"), "--layout", "nuke", "--manifest",
                manifest)
            #expect(export.status == 0, "\(export)")
            #expect(export.standardOutput.contains("7 skipped (7 no-url)"), "\(export)")
            // A lock has only icons that are fetched.
            let lock = larder.directory.path("lock.json")
            let locked = try larder.run(arguments: prefetch + ["--write-lock", lock])
            #expect(locked.status == 0, "\(locked)")
            let entries = try JSONValue.lines(
                larder.run("plan", lock, "--json", "--quiet").standardOutputBytes)
            #expect(entries.last?["entries"]?.integer == 1)
        }
    }

    /// The logo belongs to an entry that contains the other entries.
    @Test func planListsTheValuesOfNestedEntriesInDocumentOrder() async throws {
        try await withFixture { larder in
            let page = """
                pageInfo: {title: Home, logo: mdi:home}
                sections:
                - {name: A, icon: mdi:a, items: [{title: B, icon: mdi:b, url: "http://b.example"}]}
                """
            let icons = #"[{"icon": "mdi:c"}, {"icon": "mdi:d"}]"#
            let list = try larder.write(icons.utf8, to: "list.json")
            let conf = try larder.write(page.utf8, to: "conf.yml")
            let plan = try larder.run("plan", list, conf, "--json")
            let last = try #require(try JSONValue.lines(plan.standardOutputBytes).last)
            let values = (last["values"]?.array ?? []).compactMap { $0.object?["value"]?.string }
            #expect(values == ["mdi:c", "mdi:d", "mdi:home", "mdi:a", "mdi:b"], "\(plan)")
        }
    }

    /// Lists a value even if it is blank, a duplicate, or not selected by `--icons`.
    @Test func planListsTheValuesAtAllIconPlaces() async throws {
        try await withFixture { larder in
            let one = try larder.write(
                #"""
                [{"small": "http://u:sEcReT@a.example/1?token=sEcReT&b=2", "big": "http://a.example/2"
                 }, {"big": " ", "small": "mdi:home"}, {"big": null, "small": 7}, {"big": "a\n\u00e9.png"},
                 {"big": "http://a.example/2", "small": "data:,x"}]
                """#.utf8, to: "one.json")
            let two = try larder.write(#"[{"big": "//a.example/x"}]"#.utf8, to: "two.json")
            let options = ["--icon-key", "big", "--icon-key", "small", "--icons", "first"]
            let plan = try larder.run(arguments: ["plan", one, two, "--json"] + options)
            let last = try #require(try JSONValue.lines(plan.standardOutputBytes).last)
            let values = (last["values"]?.array ?? []).compactMap(\.object)
            #expect(
                values.map { "\($0["position"]?.integer ?? 0) \($0["value"]?.string ?? "-")" } == [
                    "1 http://***@a.example/1?token=***&b=2", "1 http://a.example/2", "2  ",
                    "2 mdi:home", "4 a\n\u{E9}.png", "5 http://a.example/2", "5 data:,x",
                    "1 //a.example/x",
                ])
            #expect(
                values.map { $0["kind"]?.string } == [
                    "url", "url", "empty", "icon-set", "relative", "url", "data", "relative",
                ])
            let manifests = values.map { $0["manifest"]?.string }
            #expect(manifests == Array(repeating: one, count: 7) + [two])
            let none = try larder.run("plan", try larder.manifest([], name: "none"), "--json")
            #expect(none.standardOutput.hasSuffix(#","values":[]}"# + "\n"), "\(none)")
            let quiet = try larder.run(arguments: ["plan", one, "--json", "--quiet"] + options)
            #expect(quiet.standardOutput.hasSuffix(#","values":null}"# + "\n"), "\(quiet)")
        }
    }

    @Test func listsOfURLsArePrefetched() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let list = "# icons\n\n\(urls[0])\n  out=0.svg\n\(urls[1])\n\(urls[2])"
            let run = try larder.prefetch("-", standardInput: Data(list.utf8))
            #expect(run.status == 0)
            #expect(run.outcomes == ["fetched", "fetched", "fetched"])
        }
    }
}
