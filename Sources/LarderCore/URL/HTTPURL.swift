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
        if let plain = HTTPURL(plain: text) {
            self = plain
        } else {
            self = try Self.parse(text, relativeTo: base)
        }
        if let inherited = base?.credentials, credentials == nil, base?.origin == origin {
            credentials = inherited
            inheritsCredentials = true
        }
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
    public static func == (left: HTTPURL, right: HTTPURL) -> Bool { left.string == right.string }

    /// Feeds the canonical spelling alone.
    public func hash(into hasher: inout Hasher) { hasher.combine(string) }
}

/// The WHATWG URL standard's basic URL parser (section 4.4), for `http` and `https`: these are the
/// special schemes that have a host and a path of segments.
extension HTTPURL {
    static func parse(_ text: String, relativeTo base: HTTPURL?) throws(ParseError) -> HTTPURL {
        let text = text.bytesOfURL
        // In every state that follows a special scheme, and in a reference, the first `#` ends all.
        var rest = text.prefix { $0 != UInt8(ascii: "#") }
        var scheme = base?.scheme
        if let (name, length) = explicitScheme(of: rest) {
            guard let known = Scheme(rawValue: name) else { throw .unsupportedScheme(name) }
            rest = rest.dropFirst(length)
            scheme = known
        }
        guard let scheme else { throw .relativeWithoutBase }
        // Also behind the scheme of the base.
        if let base, base.scheme == scheme, rest.prefix(2).count(where: isSlash) < 2 {
            return resolve(rest, base)
        }
        rest = rest.drop(while: isSlash)
        let end = rest.firstIndex { isSlash($0) || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = try URLAuthority(rest[..<end])
        let port = authority.port ?? scheme.defaultPort
        let explicitPort = port == scheme.defaultPort ? "" : ":\(port)"
        var spelling = Array("\(scheme.rawValue)://\(authority.host)\(explicitPort)".utf8)
        spelling.reserveCapacity(spelling.count + rest.count + 16)
        append(pathAndQuery: rest[end...], to: &spelling, root: spelling.count)
        return HTTPURL(
            string: String(decoding: spelling, as: UTF8.self),
            hasEscapes: spelling.contains(UInt8(ascii: "%")), scheme: scheme, host: authority.host,
            port: port, credentials: authority.credentials)
    }

    private static func resolve(_ reference: ArraySlice<UInt8>, _ base: HTTPURL) -> HTTPURL {
        let whole = Array(base.string.utf8)
        // Behind the scheme's two slashes; a canonical spelling always has a path.
        let root = whole[8...].firstIndex(of: UInt8(ascii: "/")) ?? whole.endIndex
        let pathEnd = whole[root...].firstIndex(of: UInt8(ascii: "?")) ?? whole.endIndex
        var spelling: [UInt8]
        switch reference.first {
        case nil: spelling = whole
        case UInt8(ascii: "?"):
            spelling = Array(whole[..<pathEnd])
            append(query: reference.dropFirst(), to: &spelling)
        case let first? where isSlash(first):
            spelling = Array(whole[..<root])
            append(pathAndQuery: reference, to: &spelling, root: root)
        default:
            let folder = whole[root..<pathEnd].lastIndex(of: UInt8(ascii: "/")) ?? root
            spelling = Array(whole[..<folder])
            append(pathAndQuery: reference, to: &spelling, root: root)
        }
        return HTTPURL(
            string: String(decoding: spelling, as: UTF8.self),
            hasEscapes: spelling.contains(UInt8(ascii: "%")), scheme: base.scheme,
            host: base.host, port: base.port)
    }

    /// The scheme in lower case, and its length with the colon.
    private static func explicitScheme(of text: ArraySlice<UInt8>) -> (String, Int)? {
        guard let first = text.first, first.isASCIILetterOrDigit, first > 0x39,
            let colon = text.firstIndex(where: {
                !$0.isASCIILetterOrDigit && !"+-.".utf8.contains($0)
            }), text[colon] == UInt8(ascii: ":")
        else { return nil }
        let name = text[..<colon].lowercasedASCII
        return (String(decoding: name, as: UTF8.self), name.count + 1)
    }

    /// Appends to a path that starts at `root`, and may have the base URL's folder already.
    private static func append(
        pathAndQuery text: ArraySlice<UInt8>, to spelling: inout [UInt8], root: Int
    ) {
        let mark = text.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
        var path = text[..<mark]
        if let first = path.first, isSlash(first) { path = path.dropFirst() }
        while true {
            let end = path.firstIndex(where: isSlash)
            let segment = path[..<(end ?? path.endIndex)]
            let dots = dots(in: segment)
            if dots == 2, spelling.count > root {
                let last = spelling[root...].lastIndex(of: UInt8(ascii: "/"))
                spelling.removeSubrange((last ?? root)...)
            }
            if dots == 0 {
                spelling.append(UInt8(ascii: "/"))
                append(segment, to: &spelling, plain: URLBytes.path)
            } else if end == nil {
                spelling.append(UInt8(ascii: "/"))
            }
            guard let end else { break }
            path = path[(end + 1)...]
        }
        if mark < text.endIndex { append(query: text[(mark + 1)...], to: &spelling) }
    }

    private static func append(query: ArraySlice<UInt8>, to spelling: inout [UInt8]) {
        spelling.append(UInt8(ascii: "?"))
        append(query, to: &spelling, plain: URLBytes.query)
    }

    /// Appends bytes, and percent-encodes all but escapes and `plain` ones.
    private static func append(
        _ bytes: ArraySlice<UInt8>, to spelling: inout [UInt8], plain: [Bool]
    ) {
        for (index, byte) in zip(bytes.indices, bytes) {
            let isEscape =
                byte == UInt8(ascii: "%") && URLBytes.escaped(bytes[(index + 1)...]) != nil
            if isEscape || plain[Int(byte)] {
                spelling.append(byte)
            } else {
                spelling.append(percentEncoded: byte)
            }
        }
    }

    /// The number of dots in a segment of one or two, percent-encoded or not; else 0.
    private static func dots(in segment: ArraySlice<UInt8>) -> Int {
        guard let first = segment.first, first == UInt8(ascii: ".") || first == UInt8(ascii: "%")
        else { return 0 }
        var rest = segment
        var count = 0
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), URLBytes.escaped(rest) == UInt8(ascii: ".") {
                rest = rest.dropFirst(2)
            } else if byte != UInt8(ascii: ".") {
                return 0
            }
            count += 1
            if count > 2 { return 0 }
        }
        return count
    }

    private static func isSlash(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    }
}

extension String {
    /// The bytes without what a URL's parser ignores: control characters and blanks around the
    /// text, and tabs and line breaks in it.
    package var bytesOfURL: [UInt8] {
        var text = Array(utf8).drop { $0 <= 0x20 }
        while let last = text.last, last <= 0x20 { text.removeLast() }
        func isIgnored(_ byte: UInt8) -> Bool { byte == 0x09 || byte == 0x0A || byte == 0x0D }
        return text.contains(where: isIgnored) ? text.filter { !isIgnored($0) } : Array(text)
    }
}
