import LarderCache
import LarderExport
import NIOCore

extension RequestAnswerer {
    /// Fields that prevent content sniffing, and prevent scripts and loads in SVG images.
    private static let harmless = [
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        ("Cross-Origin-Resource-Policy", "cross-origin"), ("Accept-Ranges", "bytes"),
    ]
    private static let placeholder = ByteBuffer(string: PlaceholderIcon.svg)

    var allowed: [(String, String)] {
        configuration.allowedOrigin.map { [("Access-Control-Allow-Origin", $0)] } ?? []
    }

    func found(
        _ request: RoutedRequest, lifetime: String = "no-cache",
        _ lookUp: (LiveCache) throws -> StoredObject?
    ) throws -> Response? {
        let fields = Response.lines([("Cache-Control", lifetime)] + Self.harmless + allowed)
        let client = request.request.client
        return try icons.icon(request.key, fields: fields, for: client, lookUp)
            .map { response(of: $0, to: request.request) }
    }

    func response(of found: FoundIcon, to request: ServerRequest) -> Response {
        let (icon, tag) = (found.icon, found.icon.entityTag)
        if let tags = request.ifMatch, !EntityTagList(tags).matches(tag, weakly: false) {
            return Response(412, text: "The icon has a different entity tag.", allowed)
        }
        if let tags = request.ifNoneMatch, EntityTagList(tags).matches(tag, weakly: true) {
            return .notModified(fields: icon.fields)
        }
        let mayBePart =
            !request.isHead && request.ifRange.map({ EntityTagList($0).isStrongly(tag) }) ?? true
        var (status, fields, range) = (200, icon.typeField + icon.fields, 0..<icon.size)
        switch mayBePart ? RequestedRange(request.range, size: icon.size) : .whole {
        case .whole: break
        case .part(let part):
            (status, range) = (206, part)
            let place = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(icon.size)"
            fields += Response.lines([("Content-Range", place)])
        case .none:
            return Response(
                416, text: "The range starts after the end of the icon (\(icon.size) bytes).",
                [("Content-Range", "bytes */\(icon.size)")] + allowed)
        }
        switch found.bytes {
        case .file(let file): return Response(status, fields: fields, body: .file(file, range))
        case .memory(let bytes):
            let start = bytes.readerIndex + Int(range.lowerBound)
            let part = bytes.getSlice(at: start, length: range.count) ?? ByteBuffer()
            return Response(status, fields: fields, body: .bytes(part))
        }
    }

    func notCached(_ url: String?) -> Response {
        if let url { missing?.note(url) }
        let absent = absent()
        guard configuration.fallback == .placeholder else { return absent }
        return Response(
            200,
            [
                ("Content-Type", "image/svg+xml"), ("Cache-Control", "no-store"),
                ("X-Larder-Placeholder", "missing"),
            ] + Self.harmless.dropLast() + allowed, body: .bytes(Self.placeholder))
    }

    /// Returns 404. A placeholder's bytes would not match the digest of a requested object.
    func absent() -> Response {
        metrics.misses.add(1, ordering: .relaxed)
        return Response(404, text: "Not cached.", allowed)
    }
}
