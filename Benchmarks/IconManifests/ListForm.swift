import Foundation

/// A format of icon lists, written entry by entry to limit memory.
struct ListForm: Sendable {
    let name: String
    var head = ""
    var between = ""
    var tail = ""
    let line: @Sendable (ListedIcon) -> String

    static let all = [
        ListForm(
            name: "icons.plist",
            head: """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
                "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <array>

                """,
            tail: "</array>\n</plist>\n",
            line: { icon in
                """
                \t<dict>
                \t\t<key>icon</key>
                \t\t<string>\(icon.url.markedUp)</string>
                \t\t<key>name</key>
                \t\t<string>\(icon.name.markedUp)</string>
                \t</dict>

                """
            }),
        ListForm(
            name: "icons.json", head: "{\"apps\":[\n", between: ",\n", tail: "\n]}\n", line: json),
        ListForm(name: "icons.jsonl", line: { json($0) + "\n" }),
        ListForm(name: "icons.txt", line: { "\($0.url)\n" }),
        ListForm(name: "icons.curl", line: { "url = \"\($0.url)\"\noutput = \"\($0.file)\"\n" }),
        ListForm(name: "icons.aria2", line: { "\($0.url)\n  out=\($0.file)\n" }),
    ]

    private static func json(_ icon: ListedIcon) -> String {
        "{\"name\":\(icon.name.quoted),\"icon\":\(icon.url.quoted)}"
    }

    func write(_ icons: some Sequence<ListedIcon>, to file: URL) throws {
        try Data().write(to: file)
        let output = try FileHandle(forWritingTo: file)
        var text = head
        var isFirst = true
        for icon in icons {
            if !isFirst { text += between }
            isFirst = false
            text += line(icon)
            if text.utf8.count > 1 << 20 {
                try output.write(contentsOf: Data(text.utf8))
                text = ""
            }
        }
        try output.write(contentsOf: Data((text + tail).utf8))
        try output.close()
    }
}

extension String {
    fileprivate var markedUp: String {
        guard utf8.contains(where: { "&<>".utf8.contains($0) }) else { return self }
        return replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;")
    }

    fileprivate var quoted: String {
        guard utf8.contains(where: { "\"\\".utf8.contains($0) }) else { return "\"\(self)\"" }
        return "\"" + replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
