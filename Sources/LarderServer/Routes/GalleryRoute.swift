import LarderGallery
import NIOCore

/// `/` and `/gallery/…`: a page for people, with every icon.
struct GalleryRoute: Route {
    private static let prefix = "/gallery/"
    /// It runs its own script and shows this server's icons, and nothing else, in no other page.
    private static let policy = """
        default-src 'none'; img-src 'self' data:; script-src 'self'; style-src 'self'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// The scripts that describe the icons are data, and other pages may include scripts.
    private static let isolation = ("Cross-Origin-Resource-Policy", "same-origin")

    let shelf: GalleryShelf

    func takes(_ path: Substring.UTF8View) -> Bool {
        path.elementsEqual("/".utf8) || path.starts(with: Self.prefix.utf8)
    }

    func answerAtOnce(_ request: RoutedRequest) -> Response? {
        // What a page elsewhere includes as a script, it reads.
        if request.request.isCrossSite, !request.path.utf8.elementsEqual("/".utf8) {
            return Response(403, text: "This is for the gallery's own page.", [Self.isolation])
        }
        guard let file = Self.files[Self.path(of: request)] else { return nil }
        return Self.response(file.mediaType, file.bytes)
    }

    func answer(_ request: RoutedRequest) throws -> Response {
        let path = Self.path(of: request)
        let bytes =
            path.isSame(as: GalleryFile.catalogue)
            ? try shelf.description() : try shelf.bytes(of: path)
        guard let bytes else {
            return Response(404, text: "There is no such file any more.", [Self.isolation])
        }
        return Self.response(GalleryFile.script, bytes)
    }

    private static func path(of request: RoutedRequest) -> String {
        let path = request.path.dropFirst()
        return path.utf8.isEmpty ? "index.html" : String(path)
    }

    private static let files = Dictionary(
        uniqueKeysWithValues: GalleryFile.page.map {
            ($0.path, (mediaType: $0.mediaType, bytes: ByteBuffer(bytes: $0.bytes)))
        })

    private static func response(_ mediaType: String, _ bytes: ByteBuffer) -> Response {
        Response(
            200,
            [
                ("Content-Type", mediaType), ("Cache-Control", "no-cache"),
                ("X-Content-Type-Options", "nosniff"), ("Content-Security-Policy", policy),
                ("Referrer-Policy", "no-referrer"), isolation,
            ], body: .bytes(bytes))
    }
}
