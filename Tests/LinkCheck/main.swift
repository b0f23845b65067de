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
// Reads by line: the kernel returns a page at a time, so a short read is not the end of the file.
guard dup2(open("/proc/self/maps", O_RDONLY), STDIN_FILENO) == STDIN_FILENO else { exit(1) }
var paths: Set<Substring> = []
while let line = readLine() {
    if let path = line.split(separator: " ").last, path.hasPrefix("/") { paths.insert(path) }
}
for path in paths { print(path) }
