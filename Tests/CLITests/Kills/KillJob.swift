import Foundation
import LarderCache
import LarderTestSupport

/// The icons to prefetch in each round: small icons of two hosts with the same file names.
struct KillJob {
    /// Longer than a batch waits for more icons, plus its commit and report.
    private static let pause = 1.35

    let origin: Origin
    /// The body that the origin serves for each URL.
    let bytes: [String: [UInt8]]
    /// The number of different icons.
    let objects: Int
    /// The URLs in the order of the manifest.
    let urls: [String]
    /// Triggers the kill.
    let script = KillScript()

    init(entries: Int) throws {
        // Some icons have the same bytes as another one and share its object.
        let icons = (0..<entries).map { number in
            IconPainter.png(seed: number % 20 == 19 ? number - 19 : number, size: 8)
        }
        objects = Set(icons).count
        let origin = try Origin()
        urls = icons.indices.map { number in
            origin.url("/\(number / 2)/icon.png", host: Self.hosts[number % 2])
        }
        bytes = Dictionary(uniqueKeysWithValues: zip(urls, icons))
        origin.onAny { [script] request in
            guard let number = Int(request.path.dropFirst().prefix { $0 != "/" }),
                let host = Self.hosts.firstIndex(of: request.host)
            else { return nil }
            let reply = Reply.ok(icons[2 * number + host], type: "image/png")
            return script.request() ? reply.delayed(Self.pause) : reply
        }
        self.origin = origin
    }

    /// Clears the log of requests.
    ///
    /// - Parameter wave: The number of requests after which the origin pauses, long enough for a
    ///   commit of its responses. If nil, the origin never pauses.
    func begin(wave: Int? = nil) {
        script.begin(wave: wave)
        origin.resetLog()
    }

    /// Writes a manifest of the selected entries, and returns their URLs.
    @discardableResult
    func writeManifest(
        to path: String, where isIncluded: (Int) -> Bool = { _ in true }
    ) throws -> Set<String> {
        let wanted = urls.indices.filter(isIncluded).map { urls[$0] }
        let apps = wanted.map { ["name": "app", "icon": $0] }
        try JSONEncoder().encode(apps).write(to: URL(fileURLWithPath: path))
        return Set(wanted)
    }

    var requests: [String: Int] {
        origin.requests.reduce(into: [:]) { counts, request in
            counts[origin.url(request.path, host: request.host), default: 0] += 1
        }
    }

    /// Returns the URLs in a cache. Each must have the bytes that the origin serves.
    func rightRows(of cache: Cache) throws -> Set<String> {
        var rows: Set<String> = []
        try cache.forEachResource { resource in
            guard try cache.bytes(of: resource.object) == bytes[resource.url] else {
                throw BrokenPromise("\(resource.url) has other bytes than its origin's")
            }
            rows.insert(resource.url)
        }
        return rows
    }

    private static let hosts = ["127.0.0.1", "localhost"]
}
