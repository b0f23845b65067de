import Foundation
import LarderIcons

// Reads icons from a cache directory, without the network:
//
//     icon-reader CACHE [--bundle CACHE] URL…
//
// Prints a line for each URL. The exit status is 1 if an icon is missing.

var arguments = Array(CommandLine.arguments.dropFirst())
var bundle: URL?
if let place = arguments.firstIndex(of: "--bundle"), place + 1 < arguments.count {
    bundle = URL(fileURLWithPath: arguments[place + 1])
    arguments.removeSubrange(place...(place + 1))
}
guard arguments.count > 1 else {
    FileHandle.standardError.write(Data("usage: icon-reader CACHE [--bundle CACHE] URL…\n".utf8))
    exit(64)
}

let icons = IconCache(directory: URL(fileURLWithPath: arguments[0]), bundle: bundle)
let loader = IconLoader(cache: icons)
var isComplete = true
for text in arguments.dropFirst() {
    guard let url = URL(string: text) else {
        print("not a URL: \(text)")
        isComplete = false
        continue
    }
    for await state in loader.states(for: url) {
        switch state {
        case .placeholder: break
        case .image(let entry, let source):
            print(
                "\(entry.mediaType ?? "unknown type"), \(entry.data.count) bytes, \(source): \(text)"
            )
        case .failed(let failure, _):
            print(failure)
            isComplete = false
        }
    }
}
// Records the used icons for `larder evict`.
await icons.flush()
exit(isComplete ? 0 : 1)
