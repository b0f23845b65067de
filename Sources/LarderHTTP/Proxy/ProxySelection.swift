import LarderCore

/// The proxy for each URL. Larder, not libcurl, selects it, because addresses are checked only if
/// no proxy is used. The ``AddressPolicy`` does not apply to a proxy, whose address may be private.
public struct ProxySelection: Sendable {
    /// Uses no proxy.
    public static let none = ProxySelection(http: nil, https: nil)

    /// An invalid proxy in an option or environment variable.
    public struct SelectionError: Error, Sendable {
        /// The environment variable, or nil for the option.
        public let variable: String?
        /// The reason.
        public let reason: ProxyServer.ParseError
    }

    private let http: ProxyServer?
    private let https: ProxyServer?
    private let exceptions: NoProxyList

    /// Creates a selection with one proxy for each scheme.
    public init(
        http: ProxyServer?, https: ProxyServer?, exceptions: NoProxyList = NoProxyList("")
    ) {
        (self.http, self.https, self.exceptions) = (http, https, exceptions)
    }

    /// Reads the options, or else the environment variables that curl reads. `proxy` applies to all
    /// URLs, and an empty string means no proxy. `noProxy` is a ``NoProxyList``. `HTTP_PROXY` is
    /// ignored, because CGI sets it from a header field of the client.
    public init(
        proxy: String?, noProxy: String?, environment: [String: String]
    ) throws(SelectionError) {
        func variable(_ names: [String]) -> (name: String, value: String)? {
            names.lazy.compactMap { name in environment[name].map { (name, $0) } }
                .first { !$0.1.isEmpty }
        }
        func server(_ names: String...) throws(SelectionError) -> ProxyServer? {
            let found = variable(names + ["all_proxy", "ALL_PROXY"])
            guard let text = proxy ?? found?.value, !text.isEmpty else { return nil }
            do throws(ProxyServer.ParseError) {
                return try ProxyServer(text)
            } catch {
                throw SelectionError(variable: proxy == nil ? found?.name : nil, reason: error)
            }
        }
        exceptions = NoProxyList(noProxy ?? variable(["no_proxy", "NO_PROXY"])?.value ?? "")
        http = try server("http_proxy")
        https = try server("https_proxy", "HTTPS_PROXY")
    }

    package func proxy(for url: HTTPURL) -> ProxyServer? {
        guard let proxy = url.scheme == .http ? http : https else { return nil }
        return exceptions.contains(url) ? nil : proxy
    }

    var isEmpty: Bool { http == nil && https == nil }
}

/// The URL and credentials of a proxy.
public struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    /// The reason why a string is not a valid proxy.
    public enum ParseError: Error, Equatable, Sendable {
        /// The scheme is not http, https, socks4, socks4a, socks5 or socks5h.
        case unsupportedScheme
        /// The text is not a URL, or has more than a scheme, credentials, a host and a port.
        case malformed
    }

    /// The URL without credentials.
    let url: String
    let credentials: Credentials?

    var isHTTP: Bool { url.utf8.starts(with: "http".utf8) }

    private static let schemes: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Parses a URL. The default scheme is http. The default port is 443 for https, else 1080.
    public init(_ text: String) throws(ParseError) {
        var (scheme, rest) = ("http", text.utf8[...])
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

    /// The URL, with `***` in place of credentials.
    public var description: String { credentials == nil ? url : url.showingMask }
}

/// The hosts to connect to without a proxy, as in curl's `no_proxy`: names, addresses, networks
/// (an address, `/` and a prefix length) and `*` for all, separated by commas or blanks. A name,
/// with or without a leading dot, includes its subdomains. Ports are ignored.
public struct NoProxyList: Sendable {
    private var matchesAll = false
    private var names: [String] = []
    private var networks: [IPNetwork] = []

    /// Parses a list. Invalid elements match no host.
    public init(_ text: String) {
        for token in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if token == "*" {
                matchesAll = true
            } else if let network = IPNetwork(token) {
                networks.append(network)
            } else {
                var name = token.lowercased()[...]
                if name.hasPrefix(".") { name.removeFirst() }
                if name.hasSuffix(".") { name.removeLast() }
                if !name.isEmpty { names.append(String(name)) }
            }
        }
    }

    func contains(_ url: HTTPURL) -> Bool {
        if matchesAll { return true }
        let host = url.host.withoutFinalDot
        if let address = IPAddress(literal: host[...]) {
            return networks.contains { $0.contains(address) }
        }
        return names.contains { host == $0 || host.hasSuffix(".\($0)") }
    }
}
