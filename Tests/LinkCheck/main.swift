import Foundation
import LarderExport
import LarderImages
import LarderManifest
import LarderServer

// Uses the modules that must link without libcurl, and prints the libraries of this process.

let manifest = ManifestSource.bytes(Array("https://a.example/a.png".utf8), name: "list")
let summary = try ManifestReader(source: manifest).read { _ in }
let configuration = ServerConfiguration(cache: ".")
guard summary.entries == 1, !ImageFormat.all.isEmpty, !ExportLayout.allCases.isEmpty else {
    exit(1)
}
_ = configuration
let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
let paths = maps.split(separator: "\n").compactMap { $0.split(separator: " ").last }
for path in Set(paths) where path.hasPrefix("/") { print(path) }
