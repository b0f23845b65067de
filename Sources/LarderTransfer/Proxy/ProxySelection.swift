/// Which proxy a URL is fetched through.
///
/// Decided here and not by libcurl, because the ``AddressPolicy`` has to know whether a connection
/// leads to a proxy: that one's address may be private.
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
