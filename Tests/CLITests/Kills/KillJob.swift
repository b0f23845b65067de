import Foundation
import LarderCache
import LarderTestSupport

/// What is prefetched in every round: small icons of two hosts, which name their files alike.
struct KillJob {
    /// Longer than a batch waits for more, and its commit and the report of it take.
    private static let pause = 1.35

    let origin: Origin
    /// What the origin serves for each URL.
    let bytes: [String: [UInt8]]
    /// How many different icons there are.
    let objects: Int
    /// In the order of the manifest.
    let urls: [String]
    /// Where the kill takes its cue from.
    let script = KillScript()

    init(entries: Int) throws {
        // Some have another's bytes, and share its object.
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

    /// Forgets what was asked.
    ///
    /// - Parameter wave: after so many requests the origin pauses, for so long that what it has
    ///   answered is committed meanwhile. Nil: it never does.
    func begin(wave: Int? = nil) {
        script.begin(wave: wave)
        origin.resetLog()
    }

    /// Writes a manifest of the entries that `isWanted` takes; returns their URLs.
    @discardableResult
    func writeManifest(
        to path: String, where isWanted: (Int) -> Bool = { _ in true }
    ) throws -> Set<String> {
        let wanted = urls.indices.filter(isWanted).map { urls[$0] }
        let apps = wanted.map { ["name": "app", "icon": $0] }
        try JSONEncoder().encode(apps).write(to: URL(fileURLWithPath: path))
        return Set(wanted)
    }

    /// How often each URL was asked for since the log was reset.
    var requests: [String: Int] {
        origin.requests.reduce(into: [:]) { counts, request in
            counts[origin.url(request.path, host: request.host), default: 0] += 1
        }
    }

    /// The URLs that a cache has, each of which must have the bytes that the origin serves.
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
