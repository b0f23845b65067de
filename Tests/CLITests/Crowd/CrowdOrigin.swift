import LarderTestSupport
import Synchronization

/// An origin whose icons change between requests. It remembers all bodies that it has served.
final class CrowdOrigin: Sendable {
    let origin: Origin
    private let ledger = Ledger()

    /// Icons that never change and must never be evicted.
    let kept: [String]
    /// Icons that change with every third request. Some of them are never fresh.
    let changing: [String]

    init(kept: Int, changing: Int) throws {
        let origin = try Origin()
        self.origin = origin
        self.kept = (0..<kept).map { origin.url("/kept/\($0)") }
        self.changing = (0..<changing).map { origin.url("/\($0)") }
        let port = origin.port
        origin.onAny { [ledger] request in
            guard let number = request.path.split(separator: "/").last.flatMap({ Int($0) }) else {
                return nil
            }
            let url = "http://127.0.0.1:\(port)\(request.path)"
            guard !request.path.hasPrefix("/kept/") else {
                return .ok(ledger.serve(seed: -1 - number, at: url), type: "image/png")
                    .header("Cache-Control", "max-age=86400, immutable")
            }
            let version = ledger.request(of: url) / 3
            let tag = "\"\(version)\""
            let freshness = ["no-cache", "max-age=1", "max-age=60"][number % 3]
            if request.header("If-None-Match") == tag {
                return .notModified.header("ETag", tag).header("Cache-Control", freshness)
            }
            // Some icons have the same bytes as another one and share its object.
            let seed = (number % 10 == 9 ? number - 1 : number) + 1_000 * version
            return .ok(ledger.serve(seed: seed, at: url), type: "image/png").header("ETag", tag)
                .header("Cache-Control", freshness)
        }
    }

    func hasServed(_ bytes: [UInt8], at url: String) -> Bool { ledger.hasServed(bytes, at: url) }

    /// The served bodies. They are separate because a handler must not retain the origin.
    private final class Ledger: Sendable {
        private struct State {
            var requests: [String: Int] = [:]
            var served: [String: Set<[UInt8]>] = [:]
            var icons: [Int: [UInt8]] = [:]
        }

        private let state = Mutex(State())

        /// Counts a request and returns the number of earlier ones.
        func request(of url: String) -> Int {
            state.withLock { state in
                defer { state.requests[url, default: 0] += 1 }
                return state.requests[url] ?? 0
            }
        }

        func serve(seed: Int, at url: String) -> [UInt8] {
            state.withLock { state in
                let icon = state.icons[seed] ?? IconPainter.png(seed: seed, size: 8)
                state.icons[seed] = icon
                state.served[url, default: []].insert(icon)
                return icon
            }
        }

        func hasServed(_ bytes: [UInt8], at url: String) -> Bool {
            state.withLock { $0.served[url]?.contains(bytes) == true }
        }
    }
}
