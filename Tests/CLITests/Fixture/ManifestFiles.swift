import Foundation

/// Contents of manifests, valid and hostile.
enum ManifestFiles {
    /// Two entries as an XML property list.
    static let xmlPlist = plist(.xml)

    /// The same entries as a binary property list.
    static let binaryPlist = plist(.binary)

    private static func plist(_ format: PropertyListSerialization.PropertyListFormat) -> [UInt8] {
        let entries = (1...2).map { ["name": "App \($0)", "icon": "http://127.0.0.1/\($0).png"] }
        let data = try? PropertyListSerialization.data(
            fromPropertyList: entries, format: format, options: 0)
        return Array(data ?? Data())
    }

    /// A manifest that contains a billion "lol" if entities are expanded.
    static let billionLaughs: String = {
        let entities = (1...9).map { level in
            "<!ENTITY l\(level) \"\(String(repeating: "&l\(level - 1);", count: 10))\">\n"
        }
        return """
            <?xml version="1.0"?>
            <!DOCTYPE plist [
            <!ENTITY l0 "lol">
            \(entities.joined())]>
            <plist version="1.0"><array><dict>
            <key>name</key><string>&l9;</string>
            <key>icon</key><string>http://127.0.0.1/icon.png</string>
            </dict></array></plist>
            """
    }()

    /// A manifest that contains another file if external entities are loaded.
    static let externalEntity = """
        <?xml version="1.0"?>
        <!DOCTYPE plist [<!ENTITY passwords SYSTEM "file:///etc/passwd">]>
        <plist version="1.0"><array><dict>
        <key>name</key><string>&passwords;</string>
        <key>icon</key><string>http://127.0.0.1/icon.png</string>
        </dict></array></plist>
        """

    // MARK: Deep nesting

    /// The nesting depth of the following manifests.
    static let depth = 200_000

    private static let arrays =
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)

    /// Returns three entries, the second of which is deeply nested.
    static func deepJSON(_ url: (Int) -> String) -> String {
        "[\(deepObjects(url).joined(separator: ",\n"))]"
    }

    /// Returns the same entries, one per line.
    static func deepJSONLines(_ url: (Int) -> String) -> String {
        deepObjects(url).joined(separator: "\n")
    }

    private static func deepObjects(_ url: (Int) -> String) -> [String] {
        [
            #"{"name": "A", "icon": "\#(url(0))"}"#,
            #"{"name": "B", "icon": "\#(url(1))", "more": \#(arrays)}"#,
            #"{"name": "C", "icon": "\#(url(2))"}"#,
        ]
    }

    /// Returns the same entries as an XML property list.
    static func deepXML(_ url: (Int) -> String) -> String {
        let more =
            String(repeating: "<array>", count: depth)
            + String(repeating: "</array>", count: depth)
        let entries = (0...2).map { number in
            """
            <dict><key>name</key><string>App</string>
            <key>icon</key><string>\(url(number))</string>\
            \(number == 1 ? "<key>more</key>\(more)" : "")</dict>
            """
        }
        return "<plist version=\"1.0\"><array>\(entries.joined())</array></plist>"
    }

    /// Returns the same entries as a binary property list. It is encoded by hand because
    /// Foundation's encoder would overflow its stack. The objects are the root, the three entries,
    /// their strings, and then arrays that each contain the next one.
    static func deepBinary(_ url: (Int) -> String) -> [UInt8] {
        func number(_ value: Int, _ width: Int) -> [UInt8] {
            (0..<width).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        func references(_ numbers: [Int]) -> [UInt8] { numbers.flatMap { number($0, 4) } }
        func string(_ text: String) -> [UInt8] {
            [0x5F, 0x10, UInt8(text.utf8.count)] + Array(text.utf8)
        }
        var objects: [[UInt8]] = [
            [0xA3] + references([1, 2, 3]),
            [0xD1] + references([4, 6]),
            [0xD2] + references([4, 5, 7, 9]),
            [0xD1] + references([4, 8]),
            string("icon"), string("more"), string(url(0)), string(url(1)), string(url(2)),
        ]
        let first = objects.count
        for index in 0..<depth {
            objects.append(
                index == depth - 1 ? [0xA0] : [0xA1] + references([first + index + 1]))
        }
        var file = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += number(file.count, 4)
            file += object
        }
        let table = file.count
        return file + offsets + [0, 0, 0, 0, 0, 0, 4, 4] + number(objects.count, 8)
            + number(0, 8) + number(table, 8)
    }
}
