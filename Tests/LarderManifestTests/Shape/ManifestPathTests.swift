import Testing

@testable import LarderManifest

@Suite struct ManifestPathTests {
    @Test(arguments: [
        ("feed.results", "feed.results"), ("$.feed.results[*]", "feed.results[*]"), ("$", "@"),
        ("@", "@"), ("$[*]", "[*]"), ("$.*", "*"), ("*", "*"), ("@.logo", "logo"),
        ("['im:name'].label", "['im:name'].label"), ("[\"im:image\"][*]", "['im:image'][*]"),
        ("im:name.label", "['im:name'].label"), ("localized.*.icon", "localized.*.icon"),
        ("en-US.a_1", "['en-US'].a_1"),
        ("['it\\'s']", "['it\\'s']"), ("a['b c'].d", "a['b c'].d"), ("名.图标", "名.图标"),
        ("assets[?@.kind=='display-image'].url", "assets[?@.kind=='display-image'].url"),
        ("/components/component", "/components/component"), ("icon/@href", "icon/@href"),
        ("@href", "@href"), ("a/*/m:b-1.c", "a/*/m:b-1.c"), ("['a/b'].c", "['a/b'].c"),
        ("icon[@type=\"remote\"]", "icon[@type='remote']"), ("/a", "/a"),
        ("a[@b='/]'][@c='d']/e", "a[@b='/]'][@c='d']/e"),
        ("$..a", "..a"), ("@..['x y'].b", "..['x y'].b"), ("a..b", "a..b"), ("..[*].a", "..[*].a"),
        ("a..*", "a..*"), ("..[?@.k=='v']", "..[?@.k=='v']"), ("//a", "//a"),
        (".//a/@b", ".//a/@b"), ("a//@b", "a//@b"), ("//a[@b='c']", "//a[@b='c']"),
    ])
    func pathsAreParsedAndNormalised(text: String, spelling: String) throws {
        let path = try ManifestPath(text)
        #expect(path.description == spelling)
        #expect(try ManifestPath(path.description) == path)
    }

    @Test(arguments: [
        "", ".a", "$a", "a.", "a[0]", "a[", "a['b'", "a[b]", "a]", "a[*", "a[?@.b]",
        "a[?@.b==c]", "a['b']c", "'a'", "a[?(@.b=='c')]",
        "..", "a..", "a...b", "a..b..c", "/", "a/", "//", ".//", "a//", "a//b//c", "///a",
        "//[@b='c']", "../a", "./a", "a[@b]", "a[@b=c]", "a[@b='c'", "a[@b='c']d", "a[not(@b)]",
        "a/text()", "a/[@b='c']", "/a[*]", "a/b[0]", "a[@b!='c']", "a[@b ='c']",
    ])
    func invalidPathsAreRefused(text: String) {
        #expect(throws: ManifestPath.SyntaxError.self) { try ManifestPath(text) }
    }

    @Test(arguments: [
        ("a", [1]), ("b[*]", [2, 3]), ("b.*", []), ("c.*", [4, 5]), ("c[*]", []), ("c.x", [4]),
        ("none", []), ("a.b", []), ("d[*].n", [6, 7]), ("d[?@.k=='y'].n", [7]), ("twice", [9]),
        ("..n", [6, 7]), ("d..n", [6, 7]), ("..x", [4]), ("..[*].n", [6, 7]),
        ("..[?@.k=='y'].n", [7]),
        ("..twice", [9]), ("..none", []),
    ])
    func pathsFindValues(path: String, values: [Int]) throws {
        let text = """
            {"a":1,"b":[2,3],"c":{"x":4,"y":5},"d":[{"k":"x","n":6},{"k":"y","n":7},8],
             "twice":8,"twice":9}
            """
        let bytes = Array(text.utf8)
        let root = try bytes.withUnsafeBufferPointer { bytes in
            var parser = JSONParser(bytes: bytes, isWhole: true, maximumDepth: 9)
            return try parser.value()
        }
        #expect(
            try ManifestPath(path).matches(in: root, limit: 9).map(\.value)
                == values.map { .integer($0) })
    }
}
