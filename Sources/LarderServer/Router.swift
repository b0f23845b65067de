import LarderCache
import LarderCore
import NIOHTTP1

/// The part of the server that answers a request.
enum Route: Sendable {
    /// `/icon?url=…`: the icon of a URL in any spelling, or of another key, such as `key:app-1`.
    case icon
    /// `/objects/sha256/<digest>`: the bytes of a digest, which never change.
    case object
    /// The exact URL that a forward proxy is asked for. It is looked up and never fetched.
    case mirror
    /// `/manifest/<name>`: a manifest in its plain form, with its icons at this server.
    case manifest
    case health
    /// `/metrics`: the counters of the server and of the cache, for Prometheus.
    case metrics
    /// `/` and `/gallery/…`: a page with every icon.
    case gallery

    static let objects = "/objects/sha256/"
    static let manifests = "/manifest/"

    /// - Parameter path: Begins with a slash.
    fileprivate init?(_ path: Substring.UTF8View, hasGallery: Bool) {
        func isPath(_ other: String) -> Bool { path.elementsEqual(other.utf8) }
        if isPath("/icon") {
            self = .icon
        } else if path.starts(with: Self.objects.utf8) {
            self = .object
        } else if path.starts(with: Self.manifests.utf8) {
            self = .manifest
        } else if isPath("/healthz") {
            self = .health
        } else if isPath("/metrics") {
            self = .metrics
        } else if hasGallery, isPath("/") || path.starts(with: "/gallery/".utf8) {
            self = .gallery
        } else {
            return nil
        }
    }
}

struct RoutedRequest: Sendable {
    let route: Route
    let request: ServerRequest
    /// The target's path as it was sent; for a mirror, the URL.
    let path: Substring
    /// The target's query; nil if it has none.
    let query: Substring?
    /// The server's URL as the client knows it, without a slash at its end.
    let base: String
    /// The key of its icon in memory: the target, or its URL.
    let key: CacheKey
}

/// Finds the routes of requests, and refuses those that have none.
struct Router: Sendable {
    /// The longest target in bytes: a URL of 8 KiB that is percent-encoded, but mostly plain, fits.
    static let longestTarget = TargetMask.longest

    enum Choice {
        case route(RoutedRequest)
        case refusal(Response)
    }

    let names: OwnNames
    let isMirror: Bool
    let hasGallery: Bool

    func choice(for request: ServerRequest) -> Choice {
        if let refusal = Self.refusal(of: request) { return .refusal(refusal) }
        let target = request.target
        let isPath = target.utf8.first == UInt8(ascii: "/")
        if request.hostCount == 0, request.isOld {
            return isPath ? local(request, target[...], host: names.authority) : absolute(request)
        }
        // RFC 9112, section 3.2: also if the target has a host of its own.
        guard request.hostCount == 1, let host = request.host, OwnNames.isAuthority(host.utf8)
        else { return .refusal(Self.last(400, "A request names one host.")) }
        guard isPath else { return absolute(request) }
        if names.isOwn(host.utf8) { return local(request, target[...], host: host) }
        return mirrored("http://\(host)\(target)", request)
    }

    /// Routes a target with scheme and authority, as a proxy gets them (RFC 9112, section 3.2.2).
    private func absolute(_ request: ServerRequest) -> Choice {
        let target = request.target
        let bytes = target.utf8
        let scheme = bytes.prefix(8).lowercasedASCII
        let length = scheme.starts(with: "http://".utf8) ? 7 : 8
        guard length == 7 || scheme.elementsEqual("https://".utf8) else {
            return .refusal(Self.last(400, "The target is neither a path nor an http URL."))
        }
        let rest = target[bytes.index(bytes.startIndex, offsetBy: length)...]
        let authority = rest.utf8.prefix { !"/?#".utf8.contains($0) }
        if authority.contains(UInt8(ascii: "@")) {
            return .refusal(Response(404, text: "Nothing is looked up by a URL with credentials."))
        }
        guard OwnNames.isAuthority(authority) else {
            return .refusal(Self.last(400, "The target has no host."))
        }
        if length == 7, names.isOwnExactly(authority) {
            let path = rest[authority.endIndex...]
            return local(
                request, path.utf8.isEmpty ? "/" : path, host: String(Substring(authority)))
        }
        return mirrored(target, request)
    }

    private func local(_ request: ServerRequest, _ target: Substring, host: String) -> Choice {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = target[..<(mark ?? target.endIndex)]
        guard let route = Route(path.utf8, hasGallery: hasGallery) else {
            return .refusal(Response(404, text: "There is nothing here."))
        }
        return .route(
            RoutedRequest(
                route: route, request: request, path: path,
                query: mark.map { target[target.utf8.index(after: $0)...] },
                base: "http://\(host)", key: CacheKey(request.target)))
    }

    private func mirrored(_ url: String, _ request: ServerRequest) -> Choice {
        guard isMirror else {
            return .refusal(
                Response(
                    421,
                    text: """
                        This server does not answer to this host name. Start it with --mirror to \
                        use it as a proxy, or with --public-url to give it a name.
                        """))
        }
        return .route(
            RoutedRequest(
                route: .mirror, request: request, path: url[...], query: nil, base: "",
                key: CacheKey(url)))
    }

    /// Returns the refusal of a request that no route answers; nil if one may.
    private static func refusal(of request: ServerRequest) -> Response? {
        if let status = request.refusal { return last(status, "This is not a request.") }
        let allowed = [("Allow", "GET, HEAD")]
        if request.method == .CONNECT {
            return last(
                405, "Nothing is connected to anywhere: this proxy answers for http URLs alone.",
                allowed)
        }
        guard request.method == .GET || request.isHead else {
            var response = Response(405, text: "Only GET and HEAD are answered.", allowed)
            response.isLast = request.hasBody
            return response
        }
        if request.hasBody { return last(413, "A request here has no body.") }
        guard request.target.utf8.count <= longestTarget else {
            return last(414, "The target is longer than \(longestTarget) bytes.")
        }
        return nil
    }

    private static func last(
        _ status: Int, _ text: String, _ fields: [(String, String)] = []
    ) -> Response {
        var response = Response(status, text: text, fields)
        response.isLast = true
        return response
    }
}
