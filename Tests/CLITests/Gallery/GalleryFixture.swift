import Foundation
import LarderTestSupport
import Testing

/// A cache of 13,000 icons that includes every kind and state.
struct GalleryFixture {
    static let count = 13_000
    private static let hosts = 40
    /// The places of failed icons in the first manifest.
    static let failed = [3, 8]
    /// The place of a damaged icon in the first manifest.
    static let damaged = 5

    let larder: CLIFixture
    /// The manifest that was prefetched.
    let first: String
    /// A manifest that was not prefetched.
    let second: String

    init(_ larder: CLIFixture) throws {
        self.larder = larder
        larder.origin.onAny { request in
            guard let number = Self.number(request.path) else { return .status(404) }
            return Self.reply(number)
        }
        first = try larder.manifest(
            (0..<Self.count).map { ["name": Self.name($0), "icon": Self.url($0)] },
            name: "first.json")
        second = try larder.manifest(
            (0..<10).map { ["name": "Later \($0)", "icon": "http://later.example/\($0).png"] },
            name: "second.json")
        let connections = (0..<Self.hosts).flatMap {
            ["--connect-to", "h\($0).example:80:127.0.0.1:\(larder.origin.port)"]
        }
        let run = try larder.prefetch(
            first, options: connections)
        try #require(run.summary.fetched == Self.count - Self.failed.count, "\(run.finished)")
        try larder.damage(Self.url(Self.damaged))
    }

    static func name(_ number: Int) -> String {
        // The first name has a right-to-left override and markup.
        switch number {
        case 1: "\u{202E}<b>App & 1</b>"
        default: "App \(number)"
        }
    }

    static func url(_ number: Int) -> String {
        "http://h\(number % hosts).example/\(number).\(number % 4 == 0 ? "png" : "svg")"
    }

    private static func number(_ path: String) -> Int? {
        path.split(separator: ".").first.flatMap { Int($0.dropFirst()) }
    }

    private static func reply(_ number: Int) -> Reply {
        if failed.contains(number) { return .status(404) }
        let age = number % 10 == 7 ? "no-cache" : "max-age=86400"
        let reply: Reply =
            number % 4 == 0
            ? .ok(IconPainter.png(seed: number, size: 48), type: "image/png")
            : .ok(IconPainter.svg(seed: number, size: 48), type: "image/svg+xml")
        return reply.header("Cache-Control", age)
    }
}

extension CLIFixture {
    /// Changes a byte of a cached icon.
    func damage(_ url: String) throws {
        let path = try run("path", url).standardOutput.trimmingCharacters(in: .newlines)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try FileManager.default.removeItem(atPath: path)
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}
