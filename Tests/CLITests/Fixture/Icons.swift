import LarderTestSupport

/// Valid icons that are cheap to create.
enum Icons {
    /// Returns a different icon for each seed.
    static func icon(_ seed: Int) -> [UInt8] { IconPainter.svg(seed: seed, size: 16) }

    static func reply(_ seed: Int) -> Reply { .ok(icon(seed), type: "image/svg+xml") }

    /// A PNG that is large enough to be truncated or damaged.
    static let png = IconPainter.png(seed: 1, size: 48)
}

extension Origin {
    /// Serves different icons at `/0`, `/1`, … and returns their URLs.
    func serveIcons(_ count: Int, host: String = "127.0.0.1") -> [String] {
        (0..<count).map { number in
            on("/\(number)", Icons.reply(number))
            return url("/\(number)", host: host)
        }
    }
}
