import LarderURL

/// A proxy, and how it is spoken to.
public struct ProxyServer: Hashable, Sendable {
    /// Why a text does not name a proxy. It says nothing of the text, which may hold a password.
    public enum ParseError: Error, Equatable, Sendable {
        /// Another scheme than http, https, socks4, socks4a, socks5 and socks5h.
        case unsupportedScheme
        /// Not a URL of a host and perhaps a port.
        case malformed
    }

    /// Scheme, host and perhaps port: what libcurl is told, and what messages show.
    let url: String
    /// What it is told, and nobody else.
    let credentials: Credentials?

    /// Whether it speaks HTTP, and not SOCKS.
    var isHTTP: Bool { url.utf8.starts(with: "http".utf8) }

    private static let schemes: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Parses a proxy's URL; without a scheme it is an http one, and without a port libcurl's
    /// default is meant: 1080, and 443 for https.
    public init(_ text: String) throws(ParseError) {
        var scheme = "http"
        var rest = text.utf8[...]
        if let mark = text.utf8.firstRange(of: "://".utf8) {
            scheme = text[..<mark.lowerBound].lowercased()
            rest = text.utf8[mark.upperBound...]
        }
        if rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
        guard !rest.contains(where: { "/?#\\".utf8.contains($0) }),
            let authority = try? URLAuthority(rest)
        else { throw .malformed }
        guard Self.schemes.contains(scheme) else { throw .unsupportedScheme }
        url = "\(scheme)://\(authority.host)\(authority.port.map { ":\($0)" } ?? "")"
        credentials = authority.credentials
    }
}

extension ProxyServer: CustomStringConvertible {
    /// The URL; credentials read `***`.
    public var description: String { credentials == nil ? url : url.showingMask }
}
