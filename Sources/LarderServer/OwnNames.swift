import Foundation
import LarderCore

/// The server's names in `Host` and in targets. A server on a loopback address must not answer to
/// other names, because a web page could read the responses through DNS rebinding.
struct OwnNames: Sendable {
    private let authorities: [[UInt8]]
    private let hosts: [[UInt8]]
    let authority: String
    private let isLoopback: Bool
    private let isMirror: Bool

    init(
        host: String, address: String, port: Int, publicURL: String? = nil, isMirror: Bool = false
    ) {
        var names = ["localhost", host, address].map(Self.bracketed)
        var authorities: [String] = []
        if let authority = publicURL?.hostAndPort {
            authorities.append(authority)
            names.append(String(decoding: Self.host(of: authority.utf8), as: UTF8.self))
        }
        hosts = names.map(\.utf8.lowercasedASCII)
        self.authorities = (names.map { "\($0):\(port)" } + authorities).map(\.utf8.lowercasedASCII)
        authority = "\(Self.bracketed(address)):\(port)"
        isLoopback =
            address.utf8.starts(with: "127.".utf8) || address.utf8.elementsEqual("::1".utf8)
        self.isMirror = isMirror
    }

    private static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    /// Whether an authority names this server. Accepts any port and any numeric address, and unless
    /// the server is a mirror or listens on a loopback address, any name.
    func isOwn(_ authority: some Collection<UInt8>) -> Bool {
        if authorities.contains(where: { $0.elementsEqual(authority) }) { return true }
        let authority = authority.lowercasedASCII
        let host = Self.host(of: authority)
        return hosts.contains(host) || Self.isNumeric(host) || !isLoopback && !isMirror
    }

    func isOwnExactly(_ authority: some Collection<UInt8>) -> Bool {
        authorities.contains { $0.elementsEqual(authority.lowercasedASCII) }
    }

    static func isAuthority(_ text: some BidirectionalCollection<UInt8>) -> Bool {
        !text.isEmpty && text.count <= 300
            && text.allSatisfy { $0.isASCIILetterOrDigit || "-._:[]".utf8.contains($0) }
    }

    private static func host(of authority: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(authority)
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")),
            bytes[(colon + 1)...].allSatisfy(\.isDigit)
        else { return bytes }
        return Array(bytes[..<colon])
    }

    private static func isNumeric(_ host: [UInt8]) -> Bool {
        var text = host[...]
        if text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") {
            text = text.dropFirst().dropLast()
        }
        let name = String(decoding: text, as: UTF8.self)
        var (four, six) = (in_addr(), in6_addr())
        return inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1
    }
}
