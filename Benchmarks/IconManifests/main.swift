import Foundation

// Writes one manifest of all PNGs beneath a directory in each of the four formats:
//
//     icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY [LIMIT]

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count >= 3 else {
    FileHandle.standardError.write(
        Data("usage: icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY [LIMIT]\n".utf8))
    exit(64)
}
let directory = arguments[1]
let baseURL = arguments[2]
let output = URL(fileURLWithPath: arguments[3], isDirectory: true)
let limit = arguments.count > 3 ? Int(arguments[4]) ?? .max : .max

/// The PNGs, links to them included, in an order that is the same on every machine.
func icons() -> [String] {
    var found: [String] = []
    let files = FileManager.default.enumerator(atPath: directory)
    while let path = files?.nextObject() as? String {
        // Follows links: false for those that lead nowhere.
        guard path.hasSuffix(".png"),
            FileManager.default.fileExists(atPath: "\(directory)/\(path)")
        else { continue }
        found.append(path)
    }
    return Array(found.sorted().prefix(limit))
}

let entries = icons().map { path in
    let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
    return ["name": (path as NSString).lastPathComponent, "icon": "\(baseURL)/\(escaped)"]
}
func json(_ value: Any) throws -> Data {
    try JSONSerialization.data(
        withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes])
}
try PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0)
    .write(to: output.appendingPathComponent("icons.plist"))
try PropertyListSerialization.data(fromPropertyList: entries, format: .binary, options: 0)
    .write(to: output.appendingPathComponent("icons.binary.plist"))
try json(["apps": entries]).write(to: output.appendingPathComponent("icons.json"))
var lines = Data()
for entry in entries { try lines.append(json(entry) + Data("\n".utf8)) }
try lines.write(to: output.appendingPathComponent("icons.jsonl"))
print(entries.count)
