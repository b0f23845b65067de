import CCurl

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

    private static let schemes: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Parses a proxy's URL; without a scheme it is an http one, and without a port libcurl's
    /// default is meant: 1080, and 443 for https.
    public init(_ text: String) throws(ParseError) {
        guard let handle = curl_url() else { throw .malformed }
        defer { curl_url_cleanup(handle) }
        let text = text.contains("://") ? text : "http://\(text)"
        guard !text.utf8.contains(0),
            curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME))
                == CURLUE_OK,
            let scheme = HTTPURL.get(handle, CURLUPART_SCHEME),
            let host = HTTPURL.get(handle, CURLUPART_HOST), !host.isEmpty,
            ["", "/"].contains(HTTPURL.get(handle, CURLUPART_PATH) ?? ""),
            HTTPURL.get(handle, CURLUPART_QUERY) == nil,
            HTTPURL.get(handle, CURLUPART_FRAGMENT) == nil
        else { throw .malformed }
        guard Self.schemes.contains(scheme) else { throw .unsupportedScheme }
        let port = HTTPURL.get(handle, CURLUPART_PORT).map { ":\($0)" } ?? ""
        let credentials = Credentials(
            user: HTTPURL.get(handle, CURLUPART_USER, UInt32(CURLU_URLDECODE)) ?? "",
            password: HTTPURL.get(handle, CURLUPART_PASSWORD, UInt32(CURLU_URLDECODE)) ?? "")
        self.url = "\(scheme)://\(host)\(port)"
        self.credentials = credentials.isEmpty ? nil : credentials
    }
}

extension ProxyServer: CustomStringConvertible {
    /// The URL; credentials read `***`.
    public var description: String { credentials == nil ? url : url.showingMask }
}
