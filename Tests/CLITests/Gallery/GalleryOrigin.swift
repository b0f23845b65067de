import Foundation
import LarderTestSupport
import Testing

/// An origin that serves a gallery's files and holds some of them back.
struct GalleryOrigin {
    static let count = 2_500
    /// The script with the second thousand icons. Holding it holds all later icons too.
    private static let second = "/gallery/icons-1.js"
    /// The number of responses that say "not ready yet", as a server does while it reads the cache.
    private static let waits = 3

    private let origin: Origin
    private let folder: String

    /// - Parameter host: Returns the host of an icon. By default, all icons have the same host.
    init(_ larder: CLIFixture, host: (Int) -> String = { _ in "a.example" }) throws {
        origin = larder.origin
        let icon = larder.origin.serveIcons(1)[0]
        _ = try larder.prefetch(try larder.manifest(icon))
        let manifest = try larder.manifest(
            (0..<Self.count).map {
                ["name": "App \($0)", "icon": "http://\(host($0))/\($0).png"]
            }, name: "gallery.json")
        let export = try larder.run(
            "export", larder.directory.path("gallery"), "--layout", "gallery", "--manifest",
            manifest)
        // All icons are missing from the cache.
        try #require(export.status == 2, "\(export)")
        folder = larder.directory.path("gallery")
        serve(at: "/whole", gate: nil)
    }

    /// The address of a page that loads all icons.
    var address: String { origin.url("/whole/index.html") }

    /// Returns the address of a page that loads only the first thousand icons until `gate` opens.
    func address(at prefix: String, until gate: Gate) -> String {
        serve(at: prefix, gate: gate)
        return origin.url("\(prefix)/index.html")
    }

    private func serve(at prefix: String, gate: Gate?) {
        let (second, waits, folder) = (Self.second, Self.waits, folder)
        origin.onAny { request in
            guard request.path.hasPrefix("\(prefix)/") else { return nil }
            let path = String(request.path.dropFirst(prefix.count))
            if path == "/gallery/icons.js", gate != nil, request.attempt <= waits {
                return .ok("larder.later()\n", type: "text/javascript")
            }
            guard let bytes = FileManager.default.contents(atPath: folder + path) else {
                return .status(404)
            }
            let types = ["html": "text/html", "css": "text/css", "js": "text/javascript"]
            let type = types[String(path.split(separator: ".").last ?? "")]
            let reply = Reply.ok(bytes, type: type ?? "application/octet-stream")
            return gate.map { path == second ? reply.heldBy($0) : reply } ?? reply
        }
    }
}
