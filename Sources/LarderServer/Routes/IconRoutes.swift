import LarderCore
import LarderManifest
import NIOCore

/// `/icon?url=…`: the icon of a URL in any spelling, or of another key, such as `key:app-1`.
struct IconRoute: StoredRoute {
    let store: IconStore
    let answer: IconAnswer

    func takes(_ path: Substring.UTF8View) -> Bool { path.elementsEqual("/icon".utf8) }

    func answer(_ request: RoutedRequest) throws -> Response {
        guard let query = request.query?.utf8,
            let value = query.split(separator: UInt8(ascii: "&"))
                .first(where: { $0.starts(with: "url=".utf8) })
        else { return Response(400, text: "Ask for /icon?url= and a percent-encoded URL.") }
        guard let url = PercentDecoding.url(value.dropFirst(4)), !url.utf8.isEmpty,
            url.utf8.count <= ManifestLimits.maximumURLSize
        else { return Response(400, text: "What is behind url= is no percent-encoded URL.") }
        let found = try store.icon(
            url, key: request.key, fields: answer.changing, for: request.request.client)
        guard let found else {
            // What a page of another site asks for is nothing that anybody here lacks.
            return answer.missing(request.request.isCrossSite ? nil : url)
        }
        return answer.found(found, request.request)
    }
}

/// What a forward proxy is asked for: the exact URL, looked up and never fetched.
struct MirrorRoute: StoredRoute {
    let store: IconStore
    let answer: IconAnswer

    /// Its URLs are told apart from paths before any path is looked at.
    func takes(_ path: Substring.UTF8View) -> Bool { false }

    func answer(_ request: RoutedRequest) throws -> Response {
        let url = String(request.path)
        guard url.utf8.count <= ManifestLimits.maximumURLSize else { return answer.missing(nil) }
        let found = try store.icon(
            url, isFromClient: true, key: request.key, fields: answer.changing,
            for: request.request.client)
        guard let found else {
            return answer.missing(url)
        }
        return answer.found(found, request.request)
    }
}

/// `/objects/sha256/<digest>`: the bytes of a digest, which never change.
struct ObjectRoute: StoredRoute {
    private static let prefix = "/objects/sha256/"

    let store: IconStore
    let answer: IconAnswer

    func takes(_ path: Substring.UTF8View) -> Bool { path.starts(with: Self.prefix.utf8) }

    func answer(_ request: RoutedRequest) throws -> Response {
        let name = request.path.dropFirst(Self.prefix.count)
        // One spelling: an object has one URL.
        guard let digest = Digest(hex: name), digest.hex.isSame(as: name) else {
            return Response(404, text: "An object's name is 64 hexadecimal digits in lower case.")
        }
        let found = try store.icon(
            digest, key: request.key, fields: answer.unchanging, for: request.request.client)
        guard let found else {
            return answer.absent()
        }
        return answer.found(found, request.request)
    }
}

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
