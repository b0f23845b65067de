import Foundation

// Lists the PNG files of a directory tree, in each manifest format and in the format of each peer:
//
//     icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY ENTRIES [NAME…]
//
// If there are more entries than icons, icons are repeated with different queries. {host} in
// BASE-URL becomes one of 300 names, h1 to h300, of which h1 is the most frequent. NAME is a file
// to write, for example icons.json. The default is all files.

let arguments = CommandLine.arguments
guard arguments.count >= 5, let count = Int(arguments[4]) else {
    FileHandle.standardError.write(
        Data("usage: icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY ENTRIES [NAME…]\n".utf8))
    exit(64)
}
let directory = arguments[1]
// Sorted, so that the list is the same on every machine. `fileExists` is false for broken links.
let icons = (FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? [])
    .filter { $0.hasSuffix(".png") && FileManager.default.fileExists(atPath: "\(directory)/\($0)") }
    .sorted()
let forms = arguments[5...]
let output = URL(fileURLWithPath: arguments[3], isDirectory: true)
try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
let base = arguments[2]
let hosts = ZipfHosts(count: 300)
let listed = icons.enumerated().map { ListedIcon(path: $1, base: base, host: hosts.name(of: $0)) }
let entries = (0..<count).lazy.map { number in
    ListedIcon(listed[number % listed.count], round: number / listed.count)
}
for form in ListForm.all where forms.isEmpty || forms.contains(form.name) {
    try form.write(entries, to: output.appendingPathComponent(form.name))
}
// A binary plist cannot be written entry by entry.
if count <= 100_000, forms.isEmpty {
    let list = try Data(contentsOf: output.appendingPathComponent("icons.plist"))
    try PropertyListSerialization.data(
        fromPropertyList: PropertyListSerialization.propertyList(from: list, format: nil),
        format: .binary, options: 0
    ).write(to: output.appendingPathComponent("icons.binary.plist"))
}
