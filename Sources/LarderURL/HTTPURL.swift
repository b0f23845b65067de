/// An absolute `http` or `https` URL, parsed by the WHATWG URL standard
/// (https://url.spec.whatwg.org).
///
/// The canonical spelling is the standard's serialization, with these differences:
///
/// - Every other character that RFC 3986 forbids in a path or query is percent-encoded, too:
///   ``| [ ] ^ ` { }`` and a `%` that begins no escape. Strict servers refuse a request target that
///   has them. Existing escapes do not change.
/// - The fragment is dropped, and the user name and password become ``credentials``.
/// - A host with an empty label (`a..b`, `.`), the port 0, and credentials that are not text or
///   have control characters are refused.
/// - ``InternationalHosts`` converts a host with other characters to ASCII. `xn--` labels are not
///   validated.
///
/// Two URLs are equal if their canonical spellings are equal. Credentials make no difference. More
/// URLs have equal ``key``s.
public struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// The canonical spelling in ASCII, without credentials. Requests use it.
    public let string: String
    /// The user name and password of the URL; nil without them.
    public internal(set) var credentials: Credentials?
    /// Whether the credentials come from the base URL.
    public internal(set) var inheritsCredentials = false
    /// `http` or `https`.
    public let scheme: Scheme
    /// The host in lower case; an IPv6 address keeps its brackets.
    public let host: String
    /// The port, the scheme's default filled in.
    public let port: Int

    /// Whether ``string`` has escapes: if not, it is the ``key``.
    private let hasEscapes: Bool

    /// The schemes that are fetched.
    public enum Scheme: String, Sendable {
        /// Plain HTTP.
        case http
        /// HTTP over TLS.
        case https

        var defaultPort: Int { self == .https ? 443 : 80 }
    }

    /// Why a text is not a fetchable URL.
    public enum ParseError: Error, Equatable, Sendable {
        /// A scheme that is not fetched, such as `file` or `javascript`.
        case unsupportedScheme(String)
        /// No scheme, and there is no base to resolve against.
        case relativeWithoutBase
        /// The parser refuses it, for this reason.
        case malformed(String)
    }

    /// Parses a URL.
    ///
    /// - Parameters:
    ///   - text: The URL. As the standard says, control characters and blanks around it are
    ///     ignored, and so are tabs and line breaks anywhere in it.
    ///   - base: The URL that a relative reference is resolved against. A URL of the same origin
    ///     without credentials inherits the base's. Default: nil.
    public init(_ text: String, relativeTo base: HTTPURL? = nil) throws(ParseError) {
        if let plain = PlainURL(text) {
            self.init(plain)
        } else {
            self = try Self.parse(text, relativeTo: base)
        }
        if let inherited = base?.credentials, credentials == nil, base?.origin == origin {
            credentials = inherited
            inheritsCredentials = true
        }
    }

    private init(_ plain: PlainURL) {
        self.init(
            string: plain.string, hasEscapes: plain.hasEscapes, scheme: plain.scheme,
            host: plain.host, port: plain.port)
    }

    init(
        string: String, hasEscapes: Bool, scheme: Scheme, host: String, port: Int,
        credentials: Credentials? = nil
    ) {
        self.string = string
        self.hasEscapes = hasEscapes
        self.scheme = scheme
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// The key for look-ups: ``string`` with upper-case digits in its escapes, and with escapes of
    /// unreserved characters decoded. URLs that RFC 3986, sections 6.2.2.1 and 6.2.2.2, makes equal
    /// have one key. A reserved character and its escape stay distinct.
    public var key: String { hasEscapes ? string.normalizingEscapes : string }

    /// Scheme, host and port: what a connection is made to and a request limit counts.
    public var origin: String { "\(scheme.rawValue)://\(host):\(port)" }

    /// Whether it has the same ``origin``.
    public func hasOrigin(of other: HTTPURL) -> Bool {
        scheme == other.scheme && port == other.port && host == other.host
    }

    /// The spelling for people: credentials read `***`, and so do the values in the query whose
    /// names say that they are secret (`token`, `X-Amz-Signature`).
    public var description: String {
        (credentials == nil ? string : string.showingMask).maskingSecretsInQuery
    }

    /// The same URL with other credentials, or none.
    public func with(_ credentials: Credentials?) -> HTTPURL {
        var url = self
        url.credentials = credentials
        return url
    }

    /// Whether their canonical spellings are equal.
    public static func == (left: HTTPURL, right: HTTPURL) -> Bool {
        left.string == right.string
    }

    /// Feeds the canonical spelling alone.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(string)
    }
}
