import Foundation

// Lists the PNGs beneath a directory for the benchmark, as a manifest in each format and as each
// peer wants it. With more entries than icons, icons are named again, with another query each time:
//
//     icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY ENTRIES [NAME…]
//
// In BASE-URL, {host} is one of 300 names, h1 to h300, the first the most frequent.
// The names of the files to write, such as icons.json; all of them unless said otherwise.

let arguments = CommandLine.arguments
guard arguments.count >= 5, let count = Int(arguments[4]) else {
    FileHandle.standardError.write(
        Data("usage: icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY ENTRIES [NAME…]\n".utf8))
    exit(64)
}
let icons = IconTree(arguments[1]).paths
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
// A binary plist cannot be written entry by entry; nobody writes one of a million entries.
if count <= 100_000, forms.isEmpty {
    let list = try Data(contentsOf: output.appendingPathComponent("icons.plist"))
    try PropertyListSerialization.data(
        fromPropertyList: PropertyListSerialization.propertyList(from: list, format: nil),
        format: .binary, options: 0
    ).write(to: output.appendingPathComponent("icons.binary.plist"))
}
