import Foundation
import LarderCache
import LarderCore
import NIOHTTP1

/// The routes by their paths. A path that ends with a slash is a prefix.
enum Route: String, CaseIterable {
    /// The icon of a URL in any spelling, or of a key like `key:app-1`.
    case icon = "/icon"
    case object = "/objects/sha256/"
    case manifest = "/manifest/"
    case catalogue = "/catalogue/"
    case health = "/healthz"
    case metrics = "/metrics"
    /// A page with all icons, also at `/`.
    case gallery = "/gallery/"
    /// The icon of the exact URL in a proxy request. The server never fetches the URL.
    case mirror = "http://"

    private static let all = allCases

    fileprivate static func at(_ path: Substring.UTF8View, hasGallery: Bool) -> Route? {
        let found = all.first { route in
            let place = route.rawValue.utf8
            let isPrefix = place.last == UInt8(ascii: "/")
            return isPrefix ? path.starts(with: place) : path.elementsEqual(place)
        }
        let route: Route? = path.elementsEqual("/".utf8) ? .gallery : found
        return route == .gallery && !hasGallery ? nil : route
    }
}

struct RoutedRequest: Sendable {
    let route: Route
    let request: ServerRequest
    let path: Substring
    let query: Substring?
    let base: String
    /// The icon's key in memory: the target, or the URL for ``Route/mirror``.
    let key: CacheKey
}

extension RequestAnswerer {
    func route(_ request: ServerRequest) throws(Response) -> RoutedRequest {
        try Self.check(request)
        let target = request.target
        let isPath = target.utf8.first == UInt8(ascii: "/")
        if request.hostCount == 0, request.isOld {
            return try isPath
                ? local(request, target[...], host: names.authority) : absolute(request)
        }
        // RFC 9112, section 3.2: `Host` is required even if the target contains a host.
        guard request.hostCount == 1, let host = request.host, OwnNames.isAuthority(host.utf8)
        else { throw Self.refusal(400, "The request needs exactly one valid Host field.") }
        guard isPath else { return try absolute(request) }
        if names.isOwn(host.utf8) { return try local(request, target[...], host: host) }
        return try mirrored("http://\(host)\(target)", request)
    }

    /// Chooses a route for a target with a host (RFC 9112, section 3.2.2).
    private func absolute(_ request: ServerRequest) throws(Response) -> RoutedRequest {
        let target = request.target
        let bytes = target.utf8
        let scheme = bytes.prefix(8).lowercasedASCII
        let length = scheme.starts(with: "http://".utf8) ? 7 : 8
        guard length == 7 || scheme.elementsEqual("https://".utf8) else {
            throw Self.refusal(400, "The target is neither a path nor an http URL.")
        }
        let rest = target[bytes.index(bytes.startIndex, offsetBy: length)...]
        let authority = rest.utf8.prefix { !"/?#".utf8.contains($0) }
        if authority.contains(UInt8(ascii: "@")) {
            throw Self.refusal(404, "URLs with credentials are not looked up.", isLast: false)
        }
        guard OwnNames.isAuthority(authority) else {
            throw Self.refusal(400, "The target has no host.")
        }
        if length == 7, names.isOwnExactly(authority) {
            let path = rest[authority.endIndex...]
            return try local(
                request, path.utf8.isEmpty ? "/" : path, host: String(Substring(authority)))
        }
        return try mirrored(target, request)
    }

    private func local(
        _ request: ServerRequest, _ target: Substring, host: String
    ) throws(Response) -> RoutedRequest {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = target[..<(mark ?? target.endIndex)]
        guard let route = Route.at(path.utf8, hasGallery: configuration.hasGallery) else {
            throw Self.refusal(404, "The server has no such path.", isLast: false)
        }
        return RoutedRequest(
            route: route, request: request, path: path,
            query: mark.map { target[target.utf8.index(after: $0)...] },
            base: configuration.publicURL ?? "http://\(host)", key: CacheKey(request.target))
    }

    private func mirrored(
        _ url: String, _ request: ServerRequest
    ) throws(Response) -> RoutedRequest {
        guard configuration.isMirror else {
            let text = """
                This server does not answer to this host name. Start it with --mirror to use it \
                as a proxy, or with --public-url to give it a name.
                """
            throw Self.refusal(421, text, isLast: false)
        }
        return RoutedRequest(
            route: .mirror, request: request, path: url[...], query: nil, base: "",
            key: CacheKey(url))
    }

    private static func check(_ request: ServerRequest) throws(Response) {
        if let status = request.refusal { throw refusal(status, "The request cannot be parsed.") }
        let allowed = [("Allow", "GET, HEAD")]
        if request.method == .CONNECT {
            throw refusal(405, "CONNECT is not supported. Use this proxy for http URLs.", allowed)
        }
        guard request.method == .GET || request.isHead else {
            throw refusal(405, "Only GET and HEAD are supported.", allowed, isLast: request.hasBody)
        }
        if request.hasBody { throw refusal(413, "Requests with a body are not supported.") }
        guard request.target.utf8.count <= TargetMask.longest else {
            throw refusal(414, "The target is longer than \(TargetMask.longest) bytes.")
        }
    }

    private static func refusal(
        _ status: Int, _ text: String, _ fields: [(String, String)] = [], isLast: Bool = true
    ) -> Response {
        var response = Response(status, text: text, fields)
        response.isLast = isLast
        return response
    }
}

/// The server's names in `Host` and in targets. A server on a loopback address must not answer to
/// other names, because a web page could read the responses through DNS rebinding.
struct OwnNames: Sendable {
    private let authorities: [[UInt8]]
    private let hosts: [[UInt8]]
    let authority: String
    private let isLoopback: Bool
    private let isMirror: Bool

    init(
        host: String, address: String, port: Int, publicURL: String? = nil, isMirror: Bool = false
    ) {
        var names = ["localhost", host, address].map(Self.bracketed)
        var authorities: [String] = []
        if let authority = publicURL?.hostAndPort {
            authorities.append(authority)
            names.append(String(decoding: Self.host(of: authority.utf8), as: UTF8.self))
        }
        hosts = names.map(\.utf8.lowercasedASCII)
        self.authorities = (names.map { "\($0):\(port)" } + authorities).map(\.utf8.lowercasedASCII)
        authority = "\(Self.bracketed(address)):\(port)"
        isLoopback =
            address.utf8.starts(with: "127.".utf8) || address.utf8.elementsEqual("::1".utf8)
        self.isMirror = isMirror
    }

    private static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    /// Whether an authority names this server. Accepts any port and any numeric address. Accepts
    /// any name unless the server is a mirror or listens on a loopback address.
    func isOwn(_ authority: some Collection<UInt8>) -> Bool {
        if authorities.contains(where: { $0.elementsEqual(authority) }) { return true }
        let authority = authority.lowercasedASCII
        let host = Self.host(of: authority)
        return hosts.contains(host) || Self.isNumeric(host) || !isLoopback && !isMirror
    }

    func isOwnExactly(_ authority: some Collection<UInt8>) -> Bool {
        authorities.contains { $0.elementsEqual(authority.lowercasedASCII) }
    }

    static func isAuthority(_ text: some BidirectionalCollection<UInt8>) -> Bool {
        !text.isEmpty && text.count <= 300
            && text.allSatisfy { $0.isASCIILetterOrDigit || "-._:[]".utf8.contains($0) }
    }

    private static func host(of authority: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(authority)
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")),
            bytes[(colon + 1)...].allSatisfy(\.isDigit)
        else { return bytes }
        return Array(bytes[..<colon])
    }

    private static func isNumeric(_ host: [UInt8]) -> Bool {
        var text = host[...]
        if text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") {
            text = text.dropFirst().dropLast()
        }
        let name = String(decoding: text, as: UTF8.self)
        var (four, six) = (in_addr(), in6_addr())
        return inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1
    }
}
