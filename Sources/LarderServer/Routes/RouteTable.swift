import LarderCore
import NIOHTTP1

/// Which route answers a request, or why none does.
struct RouteTable: Sendable {
    /// A longer target is refused, in bytes: a percent-encoded URL of 8 KiB that has mostly plain
    /// characters fits.
    static let longestTarget = TargetMask.longest

    enum Choice {
        case route(any Route, RoutedRequest)
        case refusal(Response)
    }

    private let routes: [any Route]
    private let mirror: MirrorRoute?
    private let names: OwnNames

    /// - Parameters:
    ///   - routes: in the order in which they are asked for a path.
    ///   - mirror: what answers for other servers' URLs; nil: nobody does.
    init(_ routes: [any Route], mirror: MirrorRoute?, names: OwnNames) {
        self.routes = routes
        self.mirror = mirror
        self.names = names
    }

    func choice(for request: ServerRequest) -> Choice {
        if let refusal = Self.refusal(of: request) { return .refusal(refusal) }
        let target = request.target
        let isPath = target.utf8.first == UInt8(ascii: "/")
        if request.hostCount == 0, request.isOld {
            return isPath
                ? local(request, target[...], host: names.authority) : absolute(request)
        }
        // RFC 9112, section 3.2: also if the target has a host of its own.
        guard request.hostCount == 1, let host = request.host, OwnNames.isAuthority(host.utf8)
        else { return .refusal(Self.last(400, "A request names one host.")) }
        guard isPath else { return absolute(request) }
        if names.isOwn(host.utf8) { return local(request, target[...], host: host) }
        guard let mirror else { return .refusal(Self.misdirected) }
        return mirrored("http://\(host)\(target)", request, mirror)
    }

    /// A target with scheme and authority, as a proxy gets them (RFC 9112, section 3.2.2).
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
            return .refusal(
                Response(404, text: "Nothing is looked up by a URL with credentials."))
        }
        guard OwnNames.isAuthority(authority) else {
            return .refusal(Self.last(400, "The target has no host."))
        }
        if length == 7, names.isOwnExactly(authority) {
            let path = rest[authority.endIndex...]
            return local(
                request, path.utf8.isEmpty ? "/" : path, host: String(Substring(authority)))
        }
        guard let mirror else { return .refusal(Self.misdirected) }
        return mirrored(target, request, mirror)
    }

    private func local(_ request: ServerRequest, _ target: Substring, host: String) -> Choice {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = target[..<(mark ?? target.endIndex)]
        guard let route = routes.first(where: { $0.takes(path.utf8) }) else {
            return .refusal(Response(404, text: "There is nothing here."))
        }
        return .route(
            route,
            RoutedRequest(
                request: request, path: path,
                query: mark.map { target[target.utf8.index(after: $0)...] },
                base: "http://\(host)", key: CacheKey(request.target)))
    }

    private func mirrored(
        _ url: String, _ request: ServerRequest, _ mirror: MirrorRoute
    ) -> Choice {
        .route(
            mirror,
            RoutedRequest(
                request: request, path: url[...], query: nil, base: "", key: CacheKey(url)))
    }

    /// Why a request is none that any route answers.
    private static func refusal(of request: ServerRequest) -> Response? {
        if let status = request.refusal { return last(status, "This is not a request.") }
        if request.method == .CONNECT {
            return last(
                405, "Nothing is connected to anywhere: this proxy answers for http URLs alone.",
                [("Allow", "GET, HEAD")])
        }
        guard request.method == .GET || request.isHead else {
            var response = Response(
                405, text: "Only GET and HEAD are answered.", [("Allow", "GET, HEAD")])
            response.isLast = request.hasBody
            return response
        }
        if request.hasBody { return last(413, "A request here has no body.") }
        guard request.target.utf8.count <= longestTarget else {
            return last(414, "The target is longer than \(longestTarget) bytes.")
        }
        return nil
    }

    private static let misdirected = Response(
        421,
        text: """
            This server does not answer to this host name. Start it with --mirror to use it as a \
            proxy, or with --public-url to give it a name.
            """)

    private static func last(
        _ status: Int, _ text: String, _ fields: [(String, String)] = []
    ) -> Response {
        var response = Response(status, text: text, fields)
        response.isLast = true
        return response
    }
}
