/// Writers for the manifest formats. The same entries always give the same bytes, whereas
/// Foundation's writers order keys at random.
enum SampleFormats {
    static func xmlPlist(_ apps: [SampleApp]) -> [UInt8] {
        let entries = apps.map { app in
            let fields = app.fields.map { key, value in
                switch value {
                case .text(let text):
                    "\t\t<key>\(key)</key>\n\t\t<string>\(escapedXML(text))</string>\n"
                case .number(let number):
                    "\t\t<key>\(key)</key>\n\t\t<integer>\(number)</integer>\n"
                }
            }
            return "\t<dict>\n\(fields.joined())\t</dict>\n"
        }
        let document = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
            "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <array>
            \(entries.joined())</array>
            </plist>

            """
        return Array(document.utf8)
    }

    /// Writes a dictionary with the entries as `apps`.
    static func json(_ apps: [SampleApp]) -> [UInt8] {
        let entries = apps.map { app in
            let fields = app.fields.map { "      \(json($0.key)): \(json($0.value))" }
            return "    {\n\(fields.joined(separator: ",\n"))\n    }"
        }
        return Array("{\n  \"apps\": [\n\(entries.joined(separator: ",\n"))\n  ]\n}\n".utf8)
    }

    static func jsonLines(_ apps: [SampleApp]) -> [UInt8] {
        let lines = apps.map { app in
            let fields = app.fields.map { "\(json($0.key)): \(json($0.value))" }
            return "{\(fields.joined(separator: ", "))}\n"
        }
        return Array(lines.joined().utf8)
    }

    /// Writes the objects, their offsets and a trailer. Each string is written once.
    static func binaryPlist(_ apps: [SampleApp]) -> [UInt8] {
        var objects: [[UInt8]] = [[]]
        var strings: [String: Int] = [:]

        func reference(_ text: String) -> [UInt8] {
            let index = strings[text] ?? objects.count
            if index == objects.count {
                strings[text] = index
                objects.append(binary(text))
            }
            return UInt16(index).bigEndianBytes
        }

        var entries: [UInt8] = []
        for app in apps {
            let keys = app.fields.flatMap { reference($0.key) }
            let values = app.fields.flatMap { field in
                switch field.value {
                case .text(let text):
                    return reference(text)
                case .number(let number):
                    objects.append([0x13] + Int64(number).bigEndianBytes)
                    return UInt16(objects.count - 1).bigEndianBytes
                }
            }
            entries += UInt16(objects.count).bigEndianBytes
            objects.append(marker(0xD0, app.fields.count) + keys + values)
        }
        objects[0] = marker(0xA0, apps.count) + entries

        var file = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += UInt32(file.count).bigEndianBytes
            file += object
        }
        let trailer: [UInt8] = [0, 0, 0, 0, 0, 0, 4, 2]
        return file + offsets + trailer + UInt64(objects.count).bigEndianBytes
            + UInt64(0).bigEndianBytes + UInt64(file.count).bigEndianBytes
    }

    private static func binary(_ text: String) -> [UInt8] {
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            return marker(0x50, text.utf8.count) + Array(text.utf8)
        }
        return marker(0x60, text.utf16.count) + text.utf16.flatMap(\.bigEndianBytes)
    }

    /// Returns the kind and count of an object. A count of 15 or more is a separate integer object.
    private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15
            ? [kind | UInt8(count)] : [kind | 0x0F, 0x11] + UInt16(count).bigEndianBytes
    }

    private static func escapedXML(_ text: String) -> String {
        text.map { character in
            switch character {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            default: String(character)
            }
        }.joined()
    }

    private static func json(_ value: SampleApp.Value) -> String {
        switch value {
        case .text(let text): json(text)
        case .number(let number): "\(number)"
        }
    }

    private static func json(_ text: String) -> String {
        let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }
        return "\"\(escaped.joined())\""
    }
}
