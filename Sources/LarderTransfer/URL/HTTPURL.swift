import CCurl
import LarderURL

/// An absolute `http` or `https` URL in one canonical spelling.
///
/// Parsed by libcurl's own URL parser (RFC 3986 and its "curl URL syntax" notes), so that what is
/// checked here is what is connected to. Canonical means: scheme and host in lower case, an
/// international host name in its ASCII form (`xn--`, UTS #46), no default port, no fragment, dot
/// segments resolved, spaces and bytes outside ASCII percent-encoded, a path of at least `/`,
/// numeric IPv4 hosts in dotted form, and no userinfo part: that is taken off into ``credentials``.
/// Two URLs are equal if they are spelled alike, whatever their credentials.
public struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// The canonical spelling, without credentials: what the index is keyed by.
    public let string: String
    /// What the userinfo part said; `nil` if there was none.
    public private(set) var credentials: Credentials?
    /// Whether it has its credentials from what it was resolved against, and not from its own text.
    public private(set) var inheritsCredentials = false
    /// `http` or `https`.
    public let scheme: Scheme
    /// The host in lower case; an IPv6 address keeps its brackets.
    public let host: String
    /// The port, the scheme's default filled in.
    public let port: Int
    /// The schemes that are fetched.
    public enum Scheme: String, Sendable {
        /// Plain HTTP.
        case http
        /// HTTP over TLS.
        case https
    }

    /// Why a text is not a fetchable URL.
    public enum ParseError: Error, Equatable, Sendable {
        /// A scheme that is not fetched, such as `file` or `javascript`.
        case unsupportedScheme(String)
        /// No scheme, and there is no base to resolve against.
        case relativeWithoutBase
        /// libcurl's parser refuses it; the reason is its own words.
        case malformed(String)
    }

    /// Scheme, host and port: what a connection is made to and a request limit counts.
    public var origin: String { "\(scheme.rawValue)://\(host):\(port)" }

    /// Whether it has the same ``origin``.
    public func hasOrigin(of other: HTTPURL) -> Bool {
        scheme == other.scheme && port == other.port && host == other.host
    }

    /// The spelling for people: the userinfo part, if there was one, reads `***`, and so do the
    /// values in the query whose names say that they are secret (`token`, `X-Amz-Signature`).
    public var description: String {
        (credentials == nil ? string : string.showingMask).maskingSecretsInQuery
    }

    /// The same URL with other credentials, or none.
    public func with(_ credentials: Credentials?) -> HTTPURL {
        var url = self
        url.credentials = credentials
        return url
    }

    /// Whether they are spelled alike.
    public static func == (left: HTTPURL, right: HTTPURL) -> Bool {
        left.string == right.string
    }

    /// Feeds the spelling alone.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(string)
    }

    /// Parses `text`, ignoring blanks around it.
    ///
    /// - Parameter base: what a relative reference is resolved against (RFC 3986, section 5). Its
    ///   credentials go to a URL of the same origin that has none of its own, and to no other.
    public init(_ text: String, relativeTo base: HTTPURL? = nil) throws(ParseError) {
        if let plain = PlainHTTPURL(text) {
            self.init(plain)
        } else {
            try self.init(parsing: text, relativeTo: base)
        }
        if let inherited = base?.credentials, credentials == nil, base?.origin == origin {
            credentials = inherited
            inheritsCredentials = true
        }
    }

    /// Takes what is in its canonical spelling already.
    private init(_ plain: PlainHTTPURL) {
        string = plain.string
        scheme = plain.isSecure ? .https : .http
        host = plain.host
        port = plain.port
    }

    /// Has libcurl's parser take it apart.
    init(parsing text: String, relativeTo base: HTTPURL? = nil) throws(ParseError) {
        let text = text.trimmingASCIIWhitespace()
        guard let handle = curl_url() else { throw .malformed("out of memory") }
        defer { curl_url_cleanup(handle) }

        if let scheme = Self.explicitScheme(of: text) {
            guard Scheme(rawValue: scheme) != nil else { throw .unsupportedScheme(scheme) }
        } else {
            guard let base else { throw .relativeWithoutBase }
            try Self.set(handle, CURLUPART_URL, base.string)
        }
        // The base itself; libcurl would take its last segment and its query off (RFC 3986, section
        // 5.2.2).
        if text.utf8.first != UInt8(ascii: "#") {
            try Self.set(handle, CURLUPART_URL, text.percentEncodingSpacesAndNonASCII())
        }
        curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
        try Self.setASCIIHost(handle)
        let credentials = try Self.takeCredentials(from: handle)

        guard let host = Self.get(handle, CURLUPART_HOST)?.lowercased(), !host.isEmpty else {
            throw .malformed("no host")
        }
        // Two dots in a row are not a name, and to some resolvers an address.
        guard !host.utf8.holds("..") else {
            throw .malformed("the host has an empty label")
        }
        try Self.set(handle, CURLUPART_HOST, host)
        guard
            let scheme = Self.get(handle, CURLUPART_SCHEME).flatMap({ Scheme(rawValue: $0) }),
            let port = Self.get(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT))
                .flatMap({ Int($0) }), port > 0,
            let string = Self.get(handle, CURLUPART_URL, UInt32(CURLU_NO_DEFAULT_PORT))
        else { throw .malformed("not a complete URL") }

        self.scheme = scheme
        self.host = host
        self.port = port
        self.string = string
        self.credentials = credentials
    }

    /// The scheme in lower case, if the text begins with one (RFC 3986, section 3.1).
    private static func explicitScheme(of text: String) -> String? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon]
        guard let first = scheme.utf8.first, first.isASCIILetterOrDigit, first > 0x39,
            scheme.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "+-.".utf8.contains($0) })
        else { return nil }
        return scheme.lowercased()
    }

    private static func setASCIIHost(_ handle: OpaquePointer) throws(ParseError) {
        guard let host = get(handle, CURLUPART_HOST), host.utf8.contains(where: { $0 >= 0x80 })
        else { return }
        guard
            let ascii = UTF8Locale.run({ get(handle, CURLUPART_HOST, UInt32(CURLU_PUNYCODE)) }),
            // A full-width slash, for one, has become a slash.
            ascii.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "-._".utf8.contains($0) })
        else { throw .malformed("the host is not an international domain name") }
        try set(handle, CURLUPART_HOST, ascii)
        // Parsed anew, since full-width digits and dots may have turned out to be an IPv4 address.
        guard let url = get(handle, CURLUPART_URL) else { throw .malformed("not a complete URL") }
        try set(handle, CURLUPART_URL, url)
    }

    private static func set(
        _ handle: OpaquePointer, _ part: CURLUPart, _ value: String
    ) throws(ParseError) {
        // A NUL would cut the C string short, and what follows would go unchecked.
        guard !value.utf8.contains(0) else { throw .malformed("contains a NUL") }
        let code = curl_url_set(handle, part, value, 0)
        guard code == CURLUE_OK else { throw .malformed(String(cString: curl_url_strerror(code))) }
    }

    /// A part as libcurl has it; `nil` if there is none.
    static func get(
        _ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0
    ) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        let code = curl_url_get(handle, part, &value, flags)
        // Also if it fails: asked for the ASCII form of a host that has none, libcurl 7.88
        // leaves its copy of the host behind.
        defer { curl_free(value) }
        guard code == CURLUE_OK, let value else { return nil }
        return String(cString: value)
    }

    /// Reads the userinfo part, and removes it.
    private static func takeCredentials(
        from handle: OpaquePointer
    ) throws(ParseError) -> Credentials? {
        let user = try decoded(handle, CURLUPART_USER, without: CURLUE_NO_USER)
        let password = try decoded(handle, CURLUPART_PASSWORD, without: CURLUE_NO_PASSWORD)
        curl_url_set(handle, CURLUPART_USER, nil, 0)
        curl_url_set(handle, CURLUPART_PASSWORD, nil, 0)
        let credentials = Credentials(user: user ?? "", password: password ?? "")
        return credentials.isEmpty ? nil : credentials
    }

    /// A part without its percent-encoding, which may hide neither control characters nor bytes
    /// that are not text.
    private static func decoded(
        _ handle: OpaquePointer, _ part: CURLUPart, without absence: CURLUcode
    ) throws(ParseError) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        let code = curl_url_get(handle, part, &value, UInt32(CURLU_URLDECODE))
        guard code != absence else { return nil }
        defer { curl_free(value) }
        guard code == CURLUE_OK, let value, let text = String(validatingCString: value) else {
            throw .malformed("the credentials are not text")
        }
        return text
    }
}

extension String {
    fileprivate func trimmingASCIIWhitespace() -> String {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }
        guard let first = utf8.first, let last = utf8.last, isBlank(first) || isBlank(last) else {
            return self
        }
        let trimmed = utf8.drop(while: isBlank)
        let end = trimmed.lastIndex { !isBlank($0) }.map { trimmed.index(after: $0) }
        return String(trimmed[..<(end ?? trimmed.startIndex)]) ?? self
    }

    /// The host too, which libcurl decodes again. libcurl would do it, but in upper or lower case
    /// depending on its version, and the index must find again what it was told.
    fileprivate func percentEncodingSpacesAndNonASCII() -> String {
        guard utf8.contains(where: { $0 >= 0x80 || $0 == 0x20 }) else { return self }
        return percentEncoding { $0 < 0x80 && $0 != 0x20 }
    }
}

extension UInt8 {
    var isASCIILetterOrDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
