import LarderCore

/// The proxy for each URL.
///
/// Not left to libcurl, because the ``AddressPolicy`` must know whether a connection is to a proxy,
/// whose address may be private.
public struct ProxySelection: Sendable {
    /// No proxy for any URL.
    public static let none = ProxySelection(http: nil, https: nil)

    /// Why a selection cannot be made.
    public struct SelectionError: Error, Sendable {
        /// The environment variable that does not name a proxy; `nil` if the option does not.
        public let variable: String?
        /// The error of its value.
        public let reason: ProxyServer.ParseError
    }

    private let http: ProxyServer?
    private let https: ProxyServer?
    private let exceptions: NoProxyList

    /// Uses these proxies, except for the hosts in `exceptions`.
    public init(
        http: ProxyServer?, https: ProxyServer?, exceptions: NoProxyList = NoProxyList("")
    ) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// Uses options and the environment, as curl does. Empty variables are ignored.
    ///
    /// - Parameters:
    ///   - proxy: The proxy for every URL. Empty means none, and `nil` means the value of
    ///     `http_proxy` (in lower case only, because CGI sets `HTTP_PROXY` to a client's header
    ///     field), `https_proxy` or `HTTPS_PROXY`, else `all_proxy` or `ALL_PROXY`.
    ///   - noProxy: A ``NoProxyList``. `nil` means the value of `no_proxy` or `NO_PROXY`.
    public init(
        proxy: String?, noProxy: String?, environment: [String: String]
    ) throws(SelectionError) {
        func variable(_ names: [String]) -> (name: String, value: String)? {
            names.lazy.compactMap { name in environment[name].map { (name, $0) } }
                .first { !$0.1.isEmpty }
        }
        func server(_ text: String, from variable: String?) throws(SelectionError) -> ProxyServer {
            do throws(ProxyServer.ParseError) {
                return try ProxyServer(text)
            } catch {
                throw SelectionError(variable: variable, reason: error)
            }
        }
        func server(_ names: String...) throws(SelectionError) -> ProxyServer? {
            guard let found = variable(names + ["all_proxy", "ALL_PROXY"]) else { return nil }
            return try server(found.value, from: found.name)
        }
        exceptions = NoProxyList(noProxy ?? variable(["no_proxy", "NO_PROXY"])?.value ?? "")
        if let proxy {
            http = proxy.isEmpty ? nil : try server(proxy, from: nil)
            https = http
        } else {
            http = try server("http_proxy")
            https = try server("https_proxy", "HTTPS_PROXY")
        }
    }

    /// Returns the proxy for a URL, or `nil` if it is fetched directly.
    public func proxy(for url: HTTPURL) -> ProxyServer? {
        guard let proxy = url.scheme == .http ? http : https else { return nil }
        return exceptions.contains(url) ? nil : proxy
    }

    var isEmpty: Bool { http == nil && https == nil }
}

/// A proxy's URL and credentials.
public struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    /// Why a text does not name a proxy. It does not contain the text, which may hold a password.
    public enum ParseError: Error, Equatable, Sendable {
        /// A scheme other than http, https, socks4, socks4a, socks5 and socks5h.
        case unsupportedScheme
        /// Not a URL of a host and an optional port.
        case malformed
    }

    /// Scheme, host and optional port, without credentials.
    let url: String
    let credentials: Credentials?

    var isHTTP: Bool { url.utf8.starts(with: "http".utf8) }

    private static let schemes: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Parses a proxy's URL. The default scheme is http, and the default port is libcurl's: 1080,
    /// or 443 for https.
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

    /// The URL, with credentials as `***`.
    public var description: String { credentials == nil ? url : url.showingMask }
}

/// The hosts that are reached without a proxy, in curl's reading of `no_proxy`.
///
/// Names, addresses, networks (an address, `/` and a prefix length) and `*` for all, separated by
/// commas or blanks. A name, with or without a dot in front, includes all names below it. Ports are
/// ignored.
/// Source: [curl(1), --noproxy](https://curl.se/docs/manpage.html#--noproxy).
public struct NoProxyList: Sendable {
    private var matchesAll = false
    private var names: [String] = []
    private var networks: [IPNetwork] = []

    /// Parses a list. Invalid elements match nothing.
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
