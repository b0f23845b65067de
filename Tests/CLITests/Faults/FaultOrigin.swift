import LarderCache
import LarderTestSupport
import Synchronization

/// Four icons: one stays fresh, one is stale but unchanged, one changes, and one is large and
/// truncated at first.
final class FaultOrigin: Sendable {
    let fresh: String
    let stale: String
    let changing: String
    let large: String
    /// The final bytes of each icon, by URL.
    let icons: [String: [UInt8]]
    private let isGood: Flag

    /// The part of the cache that contains all their digests. Verifying only this part takes a
    /// sixteenth of the time.
    static let part = VerifySelection.part(1, of: 16)

    /// Returns the first `count` icons painted from 0, 1, … whose digests belong to that part.
    private static func icons(_ count: Int, _ paint: (Int) -> [UInt8]) -> [[UInt8]] {
        var icons: [[UInt8]] = []
        var number = 0
        while icons.count < count {
            let icon = paint(number)
            if ReferenceSHA256.hex(icon).hasPrefix("0") { icons.append(icon) }
            number += 1
        }
        return icons
    }

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    init(_ origin: Origin) {
        (fresh, stale) = (origin.url("/fresh"), origin.url("/stale", host: "localhost"))
        (changing, large) = (origin.url("/changing"), origin.url("/large"))
        let drawn = Icons.icon(0)
        let small = Self.icons(4) { drawn + Array("<!-- \($0) -->".utf8) }
        // The candidates differ in one pixel.
        let painted = IconPainter.largeBMP(seed: 3, bytes: 76_000)
        let bitmap = Self.icons(1) { painted.dropLast() + [UInt8(truncatingIfNeeded: $0)] }[0]
        icons = [fresh: small[0], stale: small[1], changing: small[2], large: bitmap]
        let isGood = Flag()
        self.isGood = isGood
        origin.on("/fresh", .ok(small[0]).header("Cache-Control", "max-age=86400"))
        origin.on("/stale") { request in
            let reply =
                request.header("If-None-Match") == "\"1\"" ? Reply.notModified : .ok(small[1])
            return reply.header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
        }
        origin.on("/changing") { _ in
            Reply.ok(small[isGood.value.load(ordering: .acquiring) ? 2 : 3])
                .header("Cache-Control", "max-age=0")
        }
        origin.on("/large") { request in
            let reply = Reply.ranged(bitmap, tag: "\"1\"", for: request)
            return isGood.value.load(ordering: .acquiring) ? reply : reply.cut(after: 70_000)
        }
    }

    /// Starts to serve the second version of the changing icon, and complete bodies.
    func becomeGood() { isGood.value.store(true, ordering: .releasing) }
}
