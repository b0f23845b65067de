/// An absolute `http` or `https` URL, parsed according to the WHATWG URL standard
/// (https://url.spec.whatwg.org).
///
/// The canonical spelling is the standard's serialization, with these differences:
///
/// - All characters that RFC 3986 forbids in a path or query are percent-encoded, including
///   ``| [ ] ^ ` { }`` and a `%` that begins no escape, because strict servers reject them.
/// - The fragment is dropped. The user name and password become ``credentials``.
/// - Hosts with an empty label (`a..b`, `.`), port 0, and credentials with control characters or
///   invalid UTF-8 are rejected.
/// - ``InternationalHosts`` converts non-ASCII hosts. `xn--` labels are not validated.
///
/// Equality compares canonical spellings, not credentials. Unequal URLs can have equal ``key``s.
public struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// The canonical spelling in ASCII, without credentials.
    public let string: String
    /// The user name and password, if any.
    public internal(set) var credentials: Credentials?
    /// Whether the credentials come from the base URL.
    public internal(set) var inheritsCredentials = false
    /// `http` or `https`.
    public let scheme: Scheme
    /// The host in lower case. IPv6 addresses have brackets.
    public let host: String
    /// The port. Default: the scheme's port.
    public let port: Int

    /// Whether ``string`` has percent-encoded bytes. If not, it equals ``key``.
    let hasEscapes: Bool

    /// The supported schemes.
    public enum Scheme: String, Sendable {
        case http, https

        var defaultPort: Int { self == .https ? 443 : 80 }
    }

    /// The reason why a URL is rejected.
    public enum ParseError: Error, Equatable, Sendable {
        /// The scheme is not supported, for example `file` or `javascript`.
        case unsupportedScheme(String)
        /// The URL is relative, and the base URL is missing.
        case relativeWithoutBase
        /// The URL is malformed. The text is the reason.
        case malformed(String)
    }

    /// The key for lookups: ``string`` with upper-case hexadecimal digits and without escapes of
    /// unreserved characters (RFC 3986, sections 6.2.2.1 and 6.2.2.2).
    public var key: String { hasEscapes ? string.normalizingEscapes : string }

    /// The scheme, host and port.
    public var origin: String { "\(scheme.rawValue)://\(host):\(port)" }

    /// Whether two URLs have the same ``origin``.
    public func hasOrigin(of other: HTTPURL) -> Bool {
        scheme == other.scheme && port == other.port && host == other.host
    }

    /// The spelling for output, with `***` for credentials and secrets in the query.
    public var description: String {
        (credentials == nil ? string : string.showingMask).maskingSecretsInQuery
    }

    /// Returns the URL with the given credentials, or without credentials if they are nil.
    public func with(_ credentials: Credentials?) -> HTTPURL {
        var url = self
        url.credentials = credentials
        return url
    }

    /// Whether the canonical spellings are equal.
    public static func == (left: HTTPURL, right: HTTPURL) -> Bool { left.string == right.string }

    /// Hashes the canonical spelling.
    public func hash(into hasher: inout Hasher) { hasher.combine(string) }
}

// The basic URL parser (WHATWG, section 4.4).
extension HTTPURL {
    /// Parses a URL.
    ///
    /// - Parameters:
    ///   - text: The URL. Surrounding blanks and control characters, and all tabs and line breaks,
    ///     are ignored.
    ///   - base: The base of relative URLs. A URL without credentials inherits the base's if both
    ///     have the same origin. Default: nil.
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

    static func parse(_ text: String, relativeTo base: HTTPURL?) throws(ParseError) -> HTTPURL {
        let text = text.bytesOfURL
        // If the scheme is special or missing, the first `#` begins the fragment.
        var rest = text.prefix { $0 != UInt8(ascii: "#") }
        var scheme = base?.scheme
        if let spelled = rest.urlScheme {
            let name = String(decoding: spelled.lowercasedASCII, as: UTF8.self)
            guard let known = Scheme(rawValue: name) else { throw .unsupportedScheme(name) }
            rest = rest.dropFirst(spelled.count + 1)
            scheme = known
        }
        guard let scheme else { throw .relativeWithoutBase }
        // `https:icon.png` is relative to a base with the same special scheme.
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
        append(target: rest[end...], to: &spelling, root: spelling.count)
        return HTTPURL(spelling, scheme, authority.host, port).with(authority.credentials)
    }

    private init(_ spelling: [UInt8], _ scheme: Scheme, _ host: String, _ port: Int) {
        self.init(
            string: String(decoding: spelling, as: UTF8.self), scheme: scheme, host: host,
            port: port, hasEscapes: spelling.contains(UInt8(ascii: "%")))
    }

    private static func resolve(_ reference: ByteSlice, _ base: HTTPURL) -> HTTPURL {
        var spelling = Array(base.string.utf8)
        let root = spelling[8...].firstIndex(of: UInt8(ascii: "/")) ?? spelling.endIndex
        let pathEnd = spelling[root...].firstIndex(of: UInt8(ascii: "?")) ?? spelling.endIndex
        switch reference.first {
        case nil: break
        case UInt8(ascii: "?"):
            spelling.removeSubrange(pathEnd...)
            append(reference, to: &spelling, plain: URLBytes.query)
        case let first?:
            let folder = spelling[root..<pathEnd].lastIndex(of: UInt8(ascii: "/")) ?? root
            spelling.removeSubrange((isSlash(first) ? root : folder)...)
            append(target: reference, to: &spelling, root: root)
        }
        return HTTPURL(spelling, base.scheme, base.host, base.port)
    }

    private static func append(target text: ByteSlice, to spelling: inout [UInt8], root: Int) {
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
            if dots == 0 || end == nil { spelling.append(UInt8(ascii: "/")) }
            if dots == 0 { append(segment, to: &spelling, plain: URLBytes.path) }
            guard let end else { break }
            path = path[(end + 1)...]
        }
        append(text[mark...], to: &spelling, plain: URLBytes.query)
    }

    private static func append(_ bytes: ByteSlice, to spelling: inout [UInt8], plain: [Bool]) {
        for (index, byte) in zip(bytes.indices, bytes) {
            let isPlain =
                plain[Int(byte)]
                || byte == UInt8(ascii: "%") && URLBytes.escaped(bytes[(index + 1)...]) != nil
            spelling.append(percentEncoded: byte, unless: isPlain)
        }
    }

    /// Returns 1 for a segment `.` and 2 for `..`, even if percent-encoded. Otherwise returns 0.
    private static func dots(in segment: ByteSlice) -> Int {
        guard segment.count <= 6, let first = segment.first, ".%".utf8.contains(first)
        else { return 0 }
        let decoded = segment.percentDecoded
        return [[0x2E], [0x2E, 0x2E]].contains(decoded) ? decoded.count : 0
    }

    static func isSlash(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    }
}
