import LarderTestSupport

/// Whole icons that are cheap to make.
enum Icons {
    /// An icon of its own for each seed.
    static func icon(_ seed: Int) -> [UInt8] { IconPainter.svg(seed: seed, size: 16) }

    /// A reply with it.
    static func reply(_ seed: Int) -> Reply { .ok(icon(seed), type: "image/svg+xml") }

    /// A PNG of some size in bytes, for what is cut or damaged.
    static let png = IconPainter.png(seed: 1, size: 48)
}

extension Origin {
    /// Serves an icon of its own at `/0`, `/1`, … and returns the URLs.
    func serveIcons(_ count: Int, host: String = "127.0.0.1") -> [String] {
        (0..<count).map { number in
            on("/\(number)", Icons.reply(number))
            return url("/\(number)", host: host)
        }
    }
}
