import LarderCore

/// The proxy for each URL.
///
/// Decided here and not by libcurl, because the ``AddressPolicy`` must know whether a connection
/// leads to a proxy, whose address may be private.
public struct ProxySelection: Sendable {
    /// No proxy for anything.
    public static let none = ProxySelection(http: nil, https: nil)

    /// Why a selection cannot be made.
    public struct SelectionError: Error, Sendable {
        /// The variable of the environment that does not name a proxy; `nil` if it is the option.
        public let variable: String?
        /// What is wrong with it.
        public let reason: ProxyServer.ParseError
    }

    private let http: ProxyServer?
    private let https: ProxyServer?
    private let exceptions: NoProxyList

    /// These proxies, but for the hosts that are `exceptions`.
    public init(
        http: ProxyServer?, https: ProxyServer?, exceptions: NoProxyList = NoProxyList("")
    ) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// What a person and the environment say, as in curl.
    ///
    /// - Parameters:
    ///   - proxy: for every URL; empty: none; `nil`: what `http_proxy` (in lower case only, because
    ///     CGI gives `HTTP_PROXY` a client's header field), `https_proxy` or `HTTPS_PROXY`, else
    ///     `all_proxy` or `ALL_PROXY` say. Empty variables are none.
    ///   - noProxy: a ``NoProxyList``; `nil`: what `no_proxy` or `NO_PROXY` says.
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

    /// The proxy for a URL; `nil` if it is fetched directly.
    public func proxy(for url: HTTPURL) -> ProxyServer? {
        guard let proxy = url.scheme == .http ? http : https else { return nil }
        return exceptions.contains(url) ? nil : proxy
    }

    /// Whether there is any proxy at all.
    var isEmpty: Bool { http == nil && https == nil }
}

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

/// The hosts that are reached without a proxy, in curl's reading of `no_proxy`.
///
/// Names and addresses separated by commas or blanks. A name stands for itself and all names below
/// it, with or without a dot in front; an address in any notation for itself; an address with `/`
/// and a prefix length for its network; `*` for everything. Ports have no say.
/// Source: [curl(1), --noproxy](https://curl.se/docs/manpage.html#--noproxy).
public struct NoProxyList: Sendable {
    private var matchesAll = false
    private var names: [String] = []
    private var networks: [(address: IPAddress, prefixLength: Int)] = []

    /// Reads a list; what makes no sense in it matches nothing.
    public init(_ text: String) {
        for token in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if token == "*" {
                matchesAll = true
            } else if let network = Self.network(token) {
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
        let host = url.hostWithoutDot
        if let address = IPAddress(literal: host[...]) {
            return networks.contains { address.isWithin($0.address, prefixLength: $0.prefixLength) }
        }
        return names.contains { host == $0 || host.hasSuffix(".\($0)") }
    }

    private static func network(_ token: Substring) -> (IPAddress, Int)? {
        let parts = token.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let address = IPAddress(literal: first)
        else { return nil }
        let longest = if case .v4 = address { 32 } else { 128 }
        guard parts.count == 2 else { return (address, longest) }
        return Int(parts[1]).map { (address, $0) }
    }
}
