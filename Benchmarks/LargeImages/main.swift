import Foundation
import LarderTestSupport

// Creates large images in a directory, and a manifest of them:
//
//     large-images DIRECTORY BASE-URL MANIFEST COUNT [PIXELS]
//
// The images are 24-bit bitmaps of one to four megabytes, the same on every machine. With PIXELS,
// each is painted at most that wide and high, as if it had been resized.

let arguments = CommandLine.arguments
guard (5...6).contains(arguments.count), let count = Int(arguments[4]),
    (1...10_000).contains(count),
    let pixels = arguments.count == 5 ? 10_000 : Int(arguments[5]), (1...10_000).contains(pixels)
else {
    FileHandle.standardError.write(
        Data("usage: large-images DIRECTORY BASE-URL MANIFEST COUNT [PIXELS]\n".utf8))
    exit(64)
}
let directory = URL(fileURLWithPath: arguments[1], isDirectory: true)
try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
var entries = ""
for number in 0..<count {
    // 1.0 to 4.0 MB, in mixed order.
    let side = min(580 + number * 347 % 573, pixels)
    try Data(IconPainter.bmp(seed: number, size: side))
        .write(to: directory.appendingPathComponent("\(number).bmp"))
    entries += "{\"name\":\"Image \(number)\",\"icon\":\"\(arguments[2])/\(number).bmp\"}\n"
}
try Data(entries.utf8).write(to: URL(fileURLWithPath: arguments[3]))
