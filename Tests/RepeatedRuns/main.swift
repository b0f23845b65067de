import Foundation
import LarderCache
import LarderIcons
import LarderPrefetch

// Repeats one kind of work 20 times in one process, and prints the resident memory after each
// repetition:
//
//     repeated-runs prefetch|scroll|verify DIRECTORY URL…

let arguments = CommandLine.arguments
let (part, directory, urls) = (arguments[1], arguments[2], Array(arguments[3...]))

func resident() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (status.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
        * Int(sysconf(Int32(_SC_PAGESIZE)))
}

func prefetch(into path: String) async throws {
    var configuration = PrefetchConfiguration(cache: path)
    configuration.transfer.addressPolicy = .allowAll
    let manifest = urls.joined(separator: "\n")
    let events = Prefetcher(configuration)
        .prefetch([.bytes(Array(manifest.utf8), name: "manifest")])
    for try await case .finished(let report) in events {
        precondition(report.count(.fetched) == urls.count, "not all icons were fetched")
    }
}

func scroll() async throws {
    let icons = IconCache(
        directory: URL(fileURLWithPath: directory), memory: MemoryCache(pressure: nil))
    let loader = IconLoader(cache: icons)
    for url in urls {
        let url = URL(string: url)!
        loader.prefetch([url])
        _ = try await loader.icon(for: url, priority: .veryHigh)
    }
    await icons.flush()
}

func verify() throws {
    let cache = try Cache.open(at: directory)
    defer { cache.close() }
    let report = try cache.verify()
    precondition(report.objects > 0 && report.whole == report.objects, "the cache is damaged")
}

if part != "prefetch" { try await prefetch(into: directory) }
for number in 0..<20 {
    switch part {
    case "prefetch": try await prefetch(into: "\(directory)/\(number)")
    case "scroll": try await scroll()
    default: try verify()
    }
    print(resident())
}
