import CCurl

/// A proxy, and how it is spoken to.
public struct ProxyServer: Hashable, Sendable {
    /// Why a text names no proxy. It says nothing of the text, which may hold a password.
    public enum ParseError: Error, Equatable, Sendable {
        /// Another scheme than http, https, socks4, socks4a, socks5 and socks5h.
        case unsupportedScheme
        /// No URL of a host and perhaps a port.
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
            let scheme = Self.get(handle, CURLUPART_SCHEME),
            let host = Self.get(handle, CURLUPART_HOST), !host.isEmpty,
            ["", "/"].contains(Self.get(handle, CURLUPART_PATH) ?? ""),
            Self.get(handle, CURLUPART_QUERY) == nil, Self.get(handle, CURLUPART_FRAGMENT) == nil
        else { throw .malformed }
        guard Self.schemes.contains(scheme) else { throw .unsupportedScheme }
        let port = Self.get(handle, CURLUPART_PORT).map { ":\($0)" } ?? ""
        let credentials = Credentials(
            user: Self.get(handle, CURLUPART_USER, UInt32(CURLU_URLDECODE)) ?? "",
            password: Self.get(handle, CURLUPART_PASSWORD, UInt32(CURLU_URLDECODE)) ?? "")
        self.url = "\(scheme)://\(host)\(port)"
        self.credentials = credentials.isEmpty ? nil : credentials
    }

    private static func get(
        _ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0
    ) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &value, flags) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }
}

extension ProxyServer: CustomStringConvertible {
    /// The URL; credentials read `***`.
    public var description: String { credentials == nil ? url : url.showingMask }
}
