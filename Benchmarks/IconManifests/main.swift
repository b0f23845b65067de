import Foundation

// Lists the PNGs beneath a directory for the benchmark, as a manifest in each format and as each peer
// wants it. With more entries than icons, icons are named again, with another query each time:
//
//     icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY ENTRIES

let arguments = CommandLine.arguments
guard arguments.count == 5, let count = Int(arguments[4]) else {
    FileHandle.standardError.write(
        Data("usage: icon-manifests DIRECTORY BASE-URL OUTPUT-DIRECTORY ENTRIES\n".utf8))
    exit(64)
}
let icons = IconTree(arguments[1]).paths
let output = URL(fileURLWithPath: arguments[3], isDirectory: true)
try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
let entries = (0..<count).lazy.map { number in
    ListedIcon(path: icons[number % icons.count], round: number / icons.count, base: arguments[2])
}
for form in ListForm.all {
    try form.write(entries, to: output.appendingPathComponent(form.name))
}
// A binary plist cannot be written entry by entry; nobody writes one of a million entries.
if count <= 100_000 {
    let list = try Data(contentsOf: output.appendingPathComponent("icons.plist"))
    try PropertyListSerialization.data(
        fromPropertyList: PropertyListSerialization.propertyList(from: list, format: nil),
        format: .binary, options: 0
    ).write(to: output.appendingPathComponent("icons.binary.plist"))
}
