import LarderCore
import LarderExport
import NIOCore

extension ServedGallery {
    private static let policy = """
        default-src 'none'; img-src 'self' data:; script-src 'self'; style-src 'self'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// The field that keeps other sites from including the scripts, which describe the icons.
    private static let isolation = ("Cross-Origin-Resource-Policy", "same-origin")

    func atOnce(_ request: RoutedRequest) -> Response? {
        // A page of another site could include a script and read its data.
        if request.request.isCrossSite, !request.path.utf8.elementsEqual("/".utf8) {
            return Response(403, text: "This file is only for the gallery page.", [Self.isolation])
        }
        guard let file = Self.files[Array(Self.path(of: request).utf8)] else { return nil }
        return Self.response(file.mediaType, file.text, request)
    }

    func answer(_ request: RoutedRequest) -> Response {
        let path = Self.path(of: request)
        let text = path.isSame(as: GalleryFile.catalogue) ? description() : self.text(of: path)
        guard let text else {
            return Response(404, text: "This file no longer exists.", [Self.isolation])
        }
        return Self.response(GalleryFile.script, text, request)
    }

    private static func path(of request: RoutedRequest) -> String {
        let path = request.path.dropFirst()
        return path.utf8.isEmpty ? "index.html" : String(path)
    }

    private static let files = Dictionary(
        uniqueKeysWithValues: GalleryFile.page.map { file in
            let text = GalleryText(file, digest: Digest(of: file.bytes))
            return (Array(file.path.utf8), (mediaType: file.mediaType, text: text))
        })

    private static func response(
        _ mediaType: String, _ text: GalleryText, _ request: RoutedRequest
    ) -> Response {
        let tag = text.digest.map { "\"\($0.hex)\"" }
        // A shared cache would not check which site includes the scripts.
        let lifetime =
            text.isUnchanging
            ? "private, max-age=31536000, immutable" : tag == nil ? "no-store" : "no-cache"
        var fields = [("Cache-Control", lifetime), isolation]
        if let tag { fields.append(("ETag", tag)) }
        if let tag, let tags = request.request.ifNoneMatch, EntityTagList(tags).matchesWeakly(tag) {
            return .notModified(fields: Response.lines(fields))
        }
        return Response(
            200,
            [
                ("Content-Type", mediaType), ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer"),
            ] + fields, body: text.body)
    }
}
