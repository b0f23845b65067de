import Crypto
import Foundation

package struct URLAuthority {
    package let credentials: Credentials?
    package let host: String
    package let port: Int?

    /// Parses an authority as WHATWG requires for special schemes.
    package init(_ text: some Collection<UInt8>) throws(HTTPURL.ParseError) {
        let text = Array(text)
        let at = text.lastIndex(of: UInt8(ascii: "@"))
        credentials = try Self.credentials(text[..<(at ?? 0)])
        let rest = text[(at.map { $0 + 1 } ?? 0)...]
        let isIPv6 = rest.first == UInt8(ascii: "[")
        let bracket = isIPv6 ? rest.lastIndex(of: UInt8(ascii: "]")) : nil
        let end = rest[(bracket ?? rest.startIndex)...].firstIndex(of: UInt8(ascii: ":"))
        host = try URLHost.parse(rest[..<(end ?? rest.endIndex)])
        port = try Self.port(rest[(end ?? rest.endIndex)...].dropFirst())
    }

    private static func port(_ digits: ByteSlice) throws(HTTPURL.ParseError) -> Int? {
        guard !digits.isEmpty else { return nil }
        guard digits.allSatisfy(\.isDigit) else { throw .malformed("the port is not a number") }
        let port = digits.reduce(0) { min($0 * 10 + Int($1 - 0x30), 65_536) }
        guard port <= 65_535 else { throw .malformed("the port is greater than 65535") }
        guard port > 0 else { throw .malformed("the port is 0") }
        return port
    }

    private static func credentials(_ text: ByteSlice) throws(HTTPURL.ParseError) -> Credentials? {
        let colon = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        let user = try decoded(text[..<colon])
        let password = try decoded(text[colon...].dropFirst())
        return user.isEmpty && password.isEmpty ? nil : Credentials(user: user, password: password)
    }

    private static func decoded(_ text: ByteSlice) throws(HTTPURL.ParseError) -> String {
        let bytes = text.percentDecoded
        guard bytes.allSatisfy({ $0 >= 0x20 }), let text = String(valid: bytes)
        else { throw .malformed("the credentials contain invalid characters") }
        return text
    }
}

/// A user name and password (RFC 7617). `print` and string interpolation write `***` instead.
public struct Credentials: Hashable, Sendable {
    /// The user name. Empty if there is only a password.
    public var user: String
    /// The password. Empty if there is only a user name.
    public var password: String

    /// Creates credentials from decoded text.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

extension Credentials: CustomStringConvertible, CustomReflectable {
    /// `***`.
    public var description: String { "***" }

    /// A mirror without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A cipher for credentials in the plan file, which a crash leaves behind. The key stays in memory.
package struct CredentialSeal: Sendable {
    private let key = SymmetricKey(size: .bits256)

    package init() {}

    package func seal(_ credentials: Credentials) throws -> Data {
        let text = [credentials.user, credentials.password]
        return try ChaChaPoly.seal(JSONEncoder().encode(text), using: key).combined
    }

    package func open(_ sealed: Data) throws -> Credentials {
        let text = try ChaChaPoly.open(ChaChaPoly.SealedBox(combined: sealed), using: key)
        let parts = try JSONDecoder().decode([String].self, from: text)
        return Credentials(user: parts[0], password: parts[1])
    }
}
