import Testing

@testable import LarderCore
@testable import LarderManifest

@Suite struct EntryDecoderTests {
    private static let icon = #""icon":"https://a.example/i.png""#
    private static let hex = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    private static let base64 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="

    private func only(_ members: String, base: String? = nil) throws -> ManifestItem {
        let items = try readManifest("[{\(members)}]", base: base).items
        try #require(items.count == 1)
        return items[0]
    }

    private func entry(_ members: String, base: String? = nil) throws -> Entry {
        let item = try only(members, base: base)
        guard case .entry(let entry) = item.result else {
            throw Unexpected(what: "\(item.result)")
        }
        return entry
    }

    private func error(_ members: String) throws -> EntryError {
        let item = try only(members)
        guard case .failed(let error) = item.result else {
            throw Unexpected(what: "\(item.result)")
        }
        return error
    }

    private struct Unexpected: Error {
        let what: String
    }

    @Test func anEntryNeedsOnlyAnIcon() throws {
        let url = try HTTPURL("https://a.example/i.png")
        let plain = Entry(
            name: "", icon: url, priority: 0, expectation: .init(digest: nil, size: nil), key: nil,
            writtenSpelling: nil)
        #expect(try entry(Self.icon) == plain)
    }

    @Test(arguments: [#""name":"x""#, #""icon":null"#, #""icon":"""#, #""icon":" \n\t\u00a0""#])
    func anEntryWithoutAnIconIsSkipped(members: String) throws {
        guard case .skipped("no icon") = try only(members).result else {
            Issue.record("\(members) is not skipped")
            return
        }
    }

    @Test(arguments: ["7", "true", "[]", "{}", "1.5"])
    func anIconThatIsNotAStringIsRefused(value: String) throws {
        #expect(try error(#""icon":\#(value)"#).code == .iconNotAString)
    }

    @Test(arguments: [
        "javascript:alert(1)", "file:///etc/passwd", "ipfs://x/y",
        "ftp://a.example/i.png",
    ])
    func otherSchemesOfIconsAreNotFetched(url: String) throws {
        let item = try only(#""icon":"\#(url)","sha256":"x""#)
        guard case .unfetched(.otherScheme) = item.result else {
            throw Unexpected(what: "\(item.result)")
        }
        #expect(item.value?.text == url)
        #expect(item.value?.reason.hasPrefix("icon '\(url)' ") == true)
    }

    /// An entry of a million bytes could list half a million icons.
    @Test func theNumberOfIconsOfAnEntryIsLimited() throws {
        func read(_ count: Int) throws -> ManifestReading {
            var rules = ManifestRules()
            rules.iconKeys = ["art[*]"]
            let urls = (0..<count).map { "\"https://a.example/\($0)\"" }.joined(separator: ",")
            let text = "[{\"art\":[\(urls)]},{\"art\":[\"https://a.example/a\"]}]"
            return try readManifest(.bytes(Array(text.utf8), name: "test"), rules: rules)
        }
        let maximum = ManifestLimits.maximumIcons
        #expect(try read(maximum).entries.count == maximum + 1)
        #expect(try read(maximum + 1).words == ["too-large", "https://a.example/a"])
    }

    /// Blank icons used to hide the icons after the thousandth.
    @Test func blankIconsCountTowardsTheLimit() throws {
        let blanks = Array(repeating: #"{"src":""}"#, count: ManifestLimits.maximumIcons)
        let icons = blanks + [#"{"src":"https://a.example/a"}"#]
        let good = #"{"icons":[{"src":"https://a.example/b"}]}"#
        let reading = try readManifest(#"[\#(good),{"icons":[\#(icons.joined(separator: ","))]}]"#)
        #expect(reading.words == ["https://a.example/b", "too-large"])
    }

    /// Two texts of a million bytes, copied for each icon, used to take 2 GB.
    @Test func theTextsOfAnEntryAreBounded() throws {
        let url = "https://a.example/"
        let limit = ManifestLimits.maximumURLSize
        let longest = url + String(repeating: "x", count: limit - url.utf8.count)
        #expect(try entry(#""icon":"\#(longest)""#).icon.string == longest)
        let tooLong = try error(#""icon":"\#(longest)x""#)
        #expect(tooLong.code == .tooLarge)

        let key = String(repeating: "k", count: limit)
        #expect(try entry(#"\#(Self.icon),"key":"\#(key)""#).key == key)
        #expect(try entry(#"\#(Self.icon),"key":"\#(key)k""#).key == nil)

        let name = String(repeating: "é", count: ManifestLimits.maximumNameSize / 2)
        #expect(try entry(#"\#(Self.icon),"name":"\#(name)""#).name == name)
        #expect(try entry(#"\#(Self.icon),"name":"a\#(name)""#).name == "a" + name.dropLast())
    }

    /// SQLite ends a text at a null character.
    @Test func nullCharactersInNamesAreReplaced() throws {
        #expect(try entry(#"\#(Self.icon),"name":"a\u0000b""#).name == "a\u{FFFD}b")
    }

    @Test func relativeIconsAreResolvedAgainstTheBase() throws {
        let base = "https://cdn.example/feed/apps.json"
        #expect(
            try entry(#""icon":"./icons/a b.png""#, base: base).icon.string
                == "https://cdn.example/feed/icons/a%20b.png")
        guard case .unfetched(.relative) = try only(#""icon":"./icons/a.png""#).result else {
            throw Unexpected(what: "a result without a base")
        }
    }

    @Test func malformedIconURLsAreRefused() throws {
        let error = try error(#""icon":"https://exa mple:port/\u001b[0m""#)
        #expect(error.code == .unparsableURL)
        #expect(error.message.contains(#"\u{1B}"#) && !error.message.contains("\u{1B}"))
    }

    @Test(arguments: [
        (#""veryLow""#, -8), (#""low""#, -4), (#""normal""#, 0), (#""high""#, 4),
        (#""veryHigh""#, 8), ("17", 17), ("-3", -3), ("4.0", 4), ("null", 0),
    ])
    func prioritiesAreRead(value: String, priority: Int) throws {
        #expect(try entry("\(Self.icon),\"priority\":\(value)").priority == priority)
    }

    @Test(arguments: [
        #""High""#, #""5""#, "1.5", "true", "[]", "1e99", "99999999999999999999", #""medium""#,
    ])
    func invalidPrioritiesAreIgnored(value: String) throws {
        let text = "[{\(Self.icon)},{\(Self.icon),\"priority\":\(value)}]"
        let reading = try readManifest(text)
        #expect(reading.entries.map(\.priority) == [0, 0])
        #expect(reading.ignored == ["priority 1 2"])
        // If the user has named the key, an invalid priority is an error.
        var rules = ManifestRules()
        rules.priorityKey = "priority"
        #expect(try readManifest(text, rules: rules).errors.map(\.code) == [.badPriority])
    }

    @Test(arguments: [
        #""integrity":"sha256-\#(base64)""#,
        #""integrity":"sha512-AAAA sha256-\#(base64)?opt sha256-\#(base64)""#,
        #""sha256":"\#(hex.uppercased())""#,
        #""sha256":"\#(hex)","integrity":"\tsha256-\#(base64)\n""#,
        #""sha256":"\#(hex)","integrity":"""#, #""sha256":"\#(hex)","integrity":true"#,
        #""sha256":[],"integrity":"sha256-\#(base64)""#,
    ])
    func digestsOfEntriesAreRead(members: String) throws {
        #expect(try entry("\(Self.icon),\(members)").expectedDigest?.hex == Self.hex)
    }

    @Test(arguments: [
        #""integrity":"sha512-AAAA""#, #""integrity":"sha256-AAAA""#, #""integrity":"sha256-!""#,
        #""integrity":"\#(base64)""#, #""sha256":"abc""#, #""sha256":" \#(hex)""#,
        #""integrity":"sha256-\#(base64)","sha256":"\#(String(repeating: "0", count: 64))""#,
        #""integrity":"sha256-\#(base64) sha256-AAAAul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=""#,
    ])
    func invalidDigestsAreRefused(members: String) throws {
        let error = try error("\(Self.icon),\(members)")
        #expect(error.code == .badIntegrity)
        #expect(error.message.contains("use --icon-key icon to ignore it"), "\(error)")
    }

    @Test(arguments: [
        (#""sha256":"""#, "sha256 1 1"), (#""sha256":7"#, "sha256 1 1"),
        (#""sha256":{"x":1}"#, "sha256 1 1"), (#""integrity":true"#, "integrity 1 1"),
        (#""integrity":["x"]"#, "integrity 1 1"), (#""integrity":" ""#, "integrity 1 1"),
    ])
    func membersWithoutADigestAreIgnored(members: String, note: String) throws {
        let reading = try readManifest("[{\(Self.icon),\(members)}]")
        #expect(reading.entries.map(\.expectedDigest) == [nil])
        #expect(reading.ignored == [note])
    }

    /// If the user has named the key, ignoring the value would skip a check that the user expects.
    @Test func aDigestWithANamedKeyMustBeValid() throws {
        var rules = ManifestRules()
        rules.integrityKey = "integrity"
        let source = ManifestSource.bytes(
            Array(#"[{\#(Self.icon),"integrity":7}]"#.utf8), name: "test")
        #expect(try readManifest(source, rules: rules).words == ["bad-integrity"])
    }

    @Test func anEmptyIntegrityListIsNotADigest() throws {
        #expect(try entry(#"\#(Self.icon),"integrity":" ""#).expectedDigest == nil)
    }

    @Test func sizesOfEntriesAreRead() throws {
        #expect(
            try entry("\(Self.icon),\"size\":9007199254740993").expectedSize
                == 9_007_199_254_740_993)
        #expect(try entry("\(Self.icon),\"size\":0").expectedSize == 0)
        for value in ["-1", "1.5", #""12""#, "true", #""10.8M""#, "[64,64]"] {
            let reading = try readManifest("[{\(Self.icon),\"size\":\(value)}]")
            #expect(reading.entries.map(\.expectedSize) == [nil])
            #expect(reading.ignored == ["size 1 1"], "\(value)")
        }
    }

    @Test func keysOfEntriesAreRead() throws {
        #expect(try entry(#"\#(Self.icon),"key":"k""#).key == "k")
        #expect(try entry(#"\#(Self.icon),"key":"""#).key == nil)
        let long = "\"\(String(repeating: "é", count: ManifestLimits.maximumURLSize))\""
        for value in [
            "1", "true", "[]", #"{"a":1}"#, #""a\u0000b""#, #""\u0000""#, #""\udc00""#, long,
        ] {
            let reading = try readManifest("[{\(Self.icon),\"key\":\(value)}]")
            #expect(reading.entries.map(\.key) == [nil])
            #expect(reading.ignored == ["key 1 1"])
        }
    }

    @Test func aKeyMayHaveOnlyOneIconInAManifest() throws {
        let same = "https://a.example/%69.png"
        let other = "https://b.example/i.png"
        let entries = [
            (Self.icon, "k"), (#""icon":"https://me@a.example/i.png""#, "k"),
            (#""icon":"\#(same)""#, "k"), (#""icon":"\#(other)""#, "K"),
            (#""icon":"\#(other)""#, "k"), (#""icon":"data:,1""#, "k"),
            (#""icon":"data:,2""#, "d"), (#""icon":"data:,%32""#, "d"), (#""icon":"data:,3""#, "d"),
            // These keys are canonically equivalent, but not the same.
            (#""icon":"\#(other)""#, "e\u{301}"), (Self.icon, "é"),
        ]
        let text = entries.map { "{\($0),\"key\":\"\($1)\"}" }.joined(separator: ",")
        let reading = try readManifest("[{},\(text),{\(Self.icon)},{\"icon\":\"\(other)\"}]")
        let conflicts = reading.items.filter {
            if case .failed(let error) = $0.result { error.code == .keyConflict } else { false }
        }
        #expect(conflicts.map(\.position) == [6, 7, 10])
        #expect(
            reading.errors.map(\.message)
                == [2, 2, 8].map {
                    "key '\($0 == 8 ? "d" : "k")' is already used by entry \($0) for another icon"
                })
        // Another manifest may have another URL for the key.
        #expect(try readManifest(#"[{"icon":"\#(other)","key":"k"}]"#).errors.isEmpty)
    }

    @Test func theTitleIsUsedIfThereIsNoName() throws {
        #expect(try entry(#"\#(Self.icon),"title":"T""#).name == "T")
        #expect(try entry(#"\#(Self.icon),"title":"T","name":"N""#).name == "N")
        #expect(try entry(#"\#(Self.icon),"title":"T","name":"""#).name == "T")
    }

    @Test func aNumberIsAcceptedAsAName() throws {
        #expect(try entry(#"\#(Self.icon),"name":2048"#).name == "2048")
        #expect(try entry(#"\#(Self.icon),"name":{"en":"x"}"#).name == "")
    }

    @Test func theLastOfSeveralMembersWithTheSameKeyCounts() throws {
        #expect(try entry(#""icon":7,\#(Self.icon),"name":"a","name":"b""#).name == "b")
    }
}
