import LarderCache
import NIOCore

/// `/manifest/<name>`: a manifest in its plain form, with its icons at this server.
struct ManifestRoute: Route {
    private static let prefix = "/manifest/"

    let shelves: ManifestShelves
    let publicURL: String?
    let allowedOrigin: String?

    func takes(_ path: Substring.UTF8View) -> Bool { path.starts(with: Self.prefix.utf8) }

    func answer(_ request: RoutedRequest) throws -> Response {
        guard let name = PercentDecoding.text(request.path.utf8.dropFirst(Self.prefix.count)),
            let spool = try shelves.spool(name)
        else { return Response(404, text: "There is no manifest of that name.") }
        let text = ManifestText(spool, base: publicURL ?? request.base)
        var fields = [
            ("Content-Type", "application/json"), ("Cache-Control", "no-cache"),
            ("ETag", text.entityTag), ("X-Content-Type-Options", "nosniff"), ("Vary", "Host"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ]
        if let allowedOrigin { fields.append(("Access-Control-Allow-Origin", allowedOrigin)) }
        if let tags = request.request.ifMatch,
            !EntityTagList(tags).matchesStrongly(text.entityTag)
        {
            return Response(412, text: "The manifest has another entity tag.")
        }
        if let tags = request.request.ifNoneMatch,
            EntityTagList(tags).matchesWeakly(text.entityTag)
        {
            fields.removeFirst()
            var response = Response(304, fields, body: .bytes(ByteBuffer()))
            response.hasLength = false
            return response
        }
        return Response(200, fields, body: .chunks(text, length: text.length))
    }
}
