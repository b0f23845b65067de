import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest

/// Copies of random documents, read by Python's parsers.
@Suite struct RandomCatalogueTests {
    private static let hasParsers =
        (try? RunningProcess("/usr/bin/env", ["python3", "-c", "import yaml"]).wait().status) == 0

    @Test(
        .enabled(if: hasParsers, "PyYAML is not installed"),
        arguments: [ManifestFormat.json, .yaml, .xml])
    func independentParsersReadTheSameTree(_ format: ManifestFormat) throws {
        try withTemporaryDirectory { directory in
            var map: [String: String] = [:]
            let count = 150
            for seed in 0..<count {
                var document = RandomDocument(format, seed: seed)
                document.fill()
                var rest = document.edits[...]
                let catalogue = try Catalogue(.bytes(document.bytes, name: "test"))
                var copy = Data()
                _ = try withoutActuallyEscaping({ (part: UnsafeRawBufferPointer) throws in
                    copy += part
                }) { try catalogue.copy(as: format, replacing: { rest.popFirst() }, to: $0) }
                map.merge(document.map) { $1 }
                let path = URL(fileURLWithPath: directory.path("\(seed)"))
                try Data(document.bytes).write(to: path.appendingPathExtension("old"))
                try copy.write(to: path.appendingPathExtension("new"))
            }
            let text = try JSONSerialization.data(withJSONObject: map)
            try text.write(to: URL(fileURLWithPath: directory.path("map")))
            let finished = try RunningProcess(
                "/usr/bin/env",
                ["python3", "-c", Self.reader, format.rawValue, directory.path(""), "\(count)"]
            ).wait()
            #expect(finished.status == 0, "\(finished)")
        }
    }

    /// Replaces the icons in the tree of each original, and compares it with the copy's tree.
    private static let reader = """
        import json, sys, yaml
        import xml.etree.ElementTree as ET
        kind, folder, count = sys.argv[1:]
        icons = json.load(open(folder + "/map"))
        def xml(node):
            children = [xml(child) for child in node]
            return [node.tag, sorted(node.attrib.items()), node.text, node.tail, children]
        def tree(data):
            if kind == "json": return json.loads(data.decode("utf-8-sig"), object_pairs_hook=list)
            if kind == "yaml": return list(yaml.load_all(data, Loader=yaml.BaseLoader))
            return xml(ET.fromstring(data))
        def changed(node):
            if isinstance(node, str): return icons.get(node.strip(), node)
            if isinstance(node, (list, tuple)): return [changed(n) for n in node]
            if isinstance(node, dict): return {k: changed(v) for k, v in node.items()}
            return node
        def plain(node):
            if isinstance(node, (list, tuple)): return [plain(n) for n in node]
            return node
        for number in range(int(count)):
            old, new = (open(f"{folder}/{number}.{end}", "rb").read() for end in ("old", "new"))
            if changed(tree(old)) != plain(tree(new)):
                sys.exit(f"{old.decode()}\\n---\\n{new.decode()}")
        """
}

/// A document with icons in random places and styles.
private struct RandomDocument {
    private(set) var bytes: [UInt8] = []
    private(set) var edits: [CatalogueEdit] = []
    /// The new value of each icon.
    private(set) var map: [String: String] = [:]
    private let format: ManifestFormat
    private let seed: Int
    private let lineEnd: String
    private var random: Pseudorandom
    private var anchors: [String] = []

    init(_ format: ManifestFormat, seed: Int) {
        self.format = format
        self.seed = seed
        random = Pseudorandom(seed: seed)
        lineEnd = ["\n", "\r\n"][random.next(below: 2)]
        if format != .xml, random.next(below: 4) == 0 { put("\u{FEFF}") }
    }

    private mutating func put(_ text: String) { bytes += text.replacing("\n", with: lineEnd).utf8 }

    private mutating func pick(_ choices: String...) -> String {
        choices[random.next(below: choices.count)]
    }

    /// Puts a token for a new icon, with the URL in place of `%`.
    private mutating func putIcon(_ token: String, number: Int? = nil) {
        let icon = number ?? map.count
        let url = "https://i\(seed).example/\(icon).png"
        if map[url] == nil {
            map[url] = pick(
                "cat-icons/a-0123abcd.png", "../x/b-0123abcd.svg", "./c-0123abcd.ico",
                "http://127.0.0.1:8080/icon?url=\(url)", "http://[::1]:80/icon?url=key:a%20b",
                "data:image/png;base64,iVBORw0K+/==", "%C3%A9-icons/a-0123abcd.png",
                "http://a.example/icon?url=a&b='c'")
        }
        let start = bytes.count
        put(token.replacing("%", with: url))
        edits.append(
            CatalogueEdit(
                span: start..<bytes.count, number: Int64(icon), text: map[url] ?? ""))
    }

    mutating func fill() {
        let count = 1 + random.next(below: 6)
        switch format {
        case .json:
            put(pick("[", "[ ", "[\n\t"))
            for index in 0..<count {
                put(
                    (index > 0 ? "," : "") + pick("", "\n  ", " ") + #"{"name":"é \n \u00e9""# + ","
                )
                put(pick("", " ", "\n") + #""icon""# + pick(":", " : "))
                putIcon(pick(#""%""#))
                put(pick("", #", "n": 1.50e3"#, #", "icon2": null"#) + pick("}", " }", "\n}"))
            }
            put(pick("]", "\n]", "]\n"))
        case .xml:
            put(pick("<?xml version=\"1.0\"?>\n", "") + "<apps>" + pick("", "<!-- é -->\n"))
            for _ in 0..<count {
                put("\n  <app n='é'><name>A &amp; B</name><icon>")
                putIcon(pick("%", "<![CDATA[%]]>", "\n    %\n  "))
                put("</icon><link href" + pick("=", " = "))
                putIcon(pick("\"%\"", "'%'"))
                put(pick("/>", " b='c'/>") + "</app>")
            }
            put("</apps>" + pick("", "\n"))
        default: fillYAML(count)
        }
    }

    private mutating func fillYAML(_ count: Int) {
        put(pick("", "---\n", "# é\n") + "apps:\n")
        for index in 0..<count {
            put("  - name: 'App é'" + pick("", "  # note: icon") + "\n")
            if random.next(below: 4) == 0 { put("    about: |\n      icon: https://x\n\n") }
            switch random.next(below: 5) {
            case 0:
                put("    more: {a: [")
                putIcon(pick("%", "'%'", "\"%\""))
                put(pick("]", ", x]", "\n     ]") + ", icon: ")
                putIcon(pick("%", "'%'", "\"%\""))
                put(pick("}", " }", "\n      }", ", b: 1}"))
            case 1 where !anchors.isEmpty:
                put("    icon: ")
                let anchor = anchors[random.next(below: anchors.count)]
                let number = Int(anchor.dropFirst()) ?? 0
                putIcon("*\(anchor)", number: number)
            case 2:
                let anchor = "a\(map.count)"
                put("    icon: &\(anchor) " + pick("", "!!str "))
                putIcon(pick("%", "'%'", "\"%\""))
                anchors.append(anchor)
            default:
                put("    icon:" + pick(" ", "\n      "))
                let isBlock = random.next(below: 2) == 0
                putIcon(
                    isBlock
                        ? pick("|-\n      %", ">-\n        %") : pick("%", "'%'", "\"%\""))
                if isBlock { put("\n") }
            }
            put(pick("", "  # é", "\n\n") + "\n")
            if index % 2 == 0 { put("    size: 0x10\n") }
        }
        put(pick("", "...\n", "---\nb: 1\n"))
    }
}
