import LarderCache
import LarderCore
import LarderExport
import LarderManifest
import NIOCore
import NIOPosix

struct RequestAnswerer: Sendable {
    private static let health = Response(200, text: "ok")
    /// Prevents content sniffing, and keeps SVG images from running scripts or loading resources.
    private static let harmless = [
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        ("Cross-Origin-Resource-Policy", "cross-origin"), ("Accept-Ranges", "bytes"),
    ]
    private static let placeholder = ByteBuffer(string: PlaceholderIcon.svg)

    let configuration: ServerConfiguration
    let names: OwnNames
    let icons: IconStore
    let missing: MissingList?
    let gallery: ServedGallery
    let manifests: ServedManifests
    /// The cache's metrics. Counting reads the whole index, so they are kept for at least 5 s and
    /// for 20 times the time that it took.
    let status = Rebuilt<Bool, String>(.init(least: .seconds(5), factor: 20, most: .zero))
    let metrics: ServerMetrics
    let pool: NIOThreadPool
    let log: ServerLog

    /// Returns the response if no disk, lock or other process can delay it. Otherwise, returns nil,
    /// and a thread of the pool calls `done` unless the client has disconnected.
    func answer(
        _ request: ServerRequest, _ done: @escaping @Sendable (Response) -> Void
    ) -> Response? {
        metrics.requests.add(1, ordering: .relaxed)
        do throws(Response) {
            let request = try route(request)
            if let response = atOnce(request) { return response }
            submit(request, done)
            return nil
        } catch {
            metrics.refused.add(1, ordering: .relaxed)
            log.logger?.info(
                "request refused",
                metadata: [
                    "status": "\(error.status)", "target": "\(TargetMask.shown(request.target))",
                ])
            return error
        }
    }

    private func atOnce(_ request: RoutedRequest) -> Response? {
        switch request.route {
        case .icon, .object, .mirror:
            icons.iconAtOnce(request.key).map { response(of: $0, to: request.request) }
        case .gallery: gallery.atOnce(request)
        case .health: Self.health
        case .manifest, .catalogue, .metrics: nil
        }
    }

    private func submit(_ request: RoutedRequest, _ done: @escaping @Sendable (Response) -> Void) {
        let client = request.request.client
        pool.submit { state in
            guard state == .active, !client.isGone else { return }
            do {
                done(try answer(request))
            } catch let busy as ObjectReadings.BusyError {
                icons.readings.wait(for: busy, client) { submit(request, done) }
            } catch is CancellationError {
                return
            } catch let error as CacheError where error.isOfDamagedObject {
                // The response does not reveal the server's paths or options.
                let text = """
                    The cached object is damaged. Run larder verify --repair on the server, with \
                    the same --cache as larder serve.
                    """
                done(Response(500, text: text))
            } catch {
                fail(error)
                done(Response(500, text: "The cache cannot be read."))
            }
        }
    }

    private func fail(_ error: any Error) {
        metrics.failures.add(1, ordering: .relaxed)
        log.problem("\(error)")
    }

    private func answer(_ request: RoutedRequest) throws -> Response {
        switch request.route {
        case .icon: try ofIcon(request)
        case .object: try ofObject(request)
        case .mirror: try ofMirror(request)
        case .manifest, .catalogue: try ofManifest(request)
        case .metrics: ofMetrics()
        case .gallery: gallery.answer(request)
        case .health: Self.health
        }
    }

    private func ofIcon(_ request: RoutedRequest) throws -> Response {
        guard let query = request.query?.utf8,
            let value = query.split(separator: UInt8(ascii: "&"))
                .first(where: { $0.starts(with: "url=".utf8) })
        else { return Response(400, text: "Use /icon?url= with a percent-encoded URL.") }
        guard var url = PercentDecoding.url(value.dropFirst(4)), !url.utf8.isEmpty,
            url.utf8.count <= ManifestLimits.maximumURLSize
        else { return Response(400, text: "The value of url= is not a percent-encoded URL.") }
        // A served manifest may already contain URLs of this server.
        if let key = LocalizeTarget.encodedKey(in: url, at: request.base) {
            url = PercentDecoding.url(key.utf8) ?? url
        }
        // Pages of other sites can request any URL, so their requests are not listed.
        return try found(request) { try $0.resource(url)?.object }
            ?? notCached(request.request.isCrossSite ? nil : url)
    }

    private func ofMirror(_ request: RoutedRequest) throws -> Response {
        let url = String(request.path)
        guard url.utf8.count <= ManifestLimits.maximumURLSize else { return notCached(nil) }
        return try found(request) { try $0.resource(url, isFromClient: true)?.object }
            ?? notCached(url)
    }

    private func ofObject(_ request: RoutedRequest) throws -> Response {
        let name = request.path.dropFirst(Route.object.rawValue.utf8.count)
        // Only lower case is valid, so that each object has a single URL.
        guard let digest = Digest(hex: name), digest.hex.isSame(as: name) else {
            return Response(404, text: "The digest must be 64 hexadecimal digits in lower case.")
        }
        let lifetime = "public, max-age=31536000, immutable"
        return try found(request, lifetime: lifetime) { try $0.using { try $0.object(digest) } }
            ?? absent()
    }

    private var allowed: [(String, String)] {
        configuration.allowedOrigin.map { [("Access-Control-Allow-Origin", $0)] } ?? []
    }

    private func found(
        _ request: RoutedRequest, lifetime: String = "no-cache",
        _ lookUp: (LiveCache) throws -> StoredObject?
    ) throws -> Response? {
        let fields = Response.lines([("Cache-Control", lifetime)] + Self.harmless + allowed)
        let client = request.request.client
        return try icons.icon(request.key, fields: fields, for: client, lookUp)
            .map { response(of: $0, to: request.request) }
    }

    private func response(of found: FoundIcon, to request: ServerRequest) -> Response {
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

    private func notCached(_ url: String?) -> Response {
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
    private func absent() -> Response {
        metrics.misses.add(1, ordering: .relaxed)
        return Response(404, text: "Not cached.", allowed)
    }

    private func ofManifest(_ request: RoutedRequest) throws -> Response {
        let isPlain = request.route == .manifest
        let name = request.path.utf8.dropFirst(request.route.rawValue.utf8.count)
        guard let manifest = PercentDecoding.text(name).flatMap({ manifests[$0] }) else {
            return Response(404, text: "No manifest has this name.")
        }
        let tag, mediaType: String
        let body: Response.Body
        if isPlain, let spool = try manifests.spool(of: manifest) {
            let text = ManifestText(spool, base: request.base)
            (tag, mediaType, body) = (text.entityTag, "application/json", .chunks(text))
        } else if !isPlain, let spool = try manifests.catalogue(of: manifest, base: request.base) {
            (tag, mediaType) = (spool.entityTag, spool.mediaType)
            body = .file(spool.file, 0..<spool.file.size)
        } else {
            return Response(
                503, text: "The manifest cannot be read at the moment.", [("Retry-After", "1")])
        }
        let fields =
            [
                ("Cache-Control", "no-cache"), ("ETag", tag), ("X-Content-Type-Options", "nosniff"),
                ("Vary", "Host"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ] + allowed
        if let tags = request.request.ifMatch, !EntityTagList(tags).matches(tag, weakly: false) {
            return Response(412, text: "The manifest has a different entity tag.")
        }
        if let tags = request.request.ifNoneMatch, EntityTagList(tags).matches(tag, weakly: true) {
            return .notModified(fields: Response.lines(fields))
        }
        return Response(200, [("Content-Type", mediaType)] + fields, body: body)
    }

    private func ofMetrics() -> Response {
        var ofCache = status.last
        if status.mustBuild(true) {
            let start = NIODeadline.now()
            ofCache = nil
            do {
                ofCache = try icons.cache.using { try $0.status() }.prometheus
            } catch { fail(error) }
            status.end(ofCache, of: true, since: start)
        }
        let text = metrics.prometheus(memory: icons.memory) + (ofCache ?? "")
        return Response(
            200,
            [
                ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
                ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ], body: .bytes(ByteBuffer(string: text)))
    }
}
